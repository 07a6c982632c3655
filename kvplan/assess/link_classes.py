"""What kinds of links do in the other direction, and in both at once."""

from __future__ import annotations

from kvplan.domain.host import Link

_C2C_BYTES_PER_S = 100e9
_PCIE5_BYTES_PER_S = 28e9
"""A measured rate above these is that of such a link."""

_OUT = {"pcie": 0.962, "c2c": 0.875}
"""Source: vLLM's copies on H100, 50.5 GB/s out and 52.5 in; nvbandwidth on a GH200, 295 and 337."""
_DUPLEX = {"pcie3": 0.73, "pcie4": 0.73, "pcie5": 0.92, "c2c": 0.48}
"""Source: nvbandwidth, each direction while both run: 51 of 55.4 GB/s on PCIe 5 (B300, RTX 5090), 18.6 of 25.5 on
PCIe 4, 175 of 359 on a GB300 DGX Station. PCIe 3 is taken as PCIe 4.
"""


def link_class(link: Link) -> str:
    """``pcie3`` to ``pcie5`` or ``c2c``, whatever the lanes; of a rate alone the class that reaches it."""
    if link.kind == "c2c" or link.bytes_per_s.best > _C2C_BYTES_PER_S:
        return "c2c"
    if link.kind.startswith("pcie"):
        return link.kind.partition("x")[0]
    return "pcie5" if link.bytes_per_s.best > _PCIE5_BYTES_PER_S else "pcie4"


def out_fraction(link: Link | None) -> float:
    """Rate from the GPU to host memory, relative to the way there."""
    if link is None:
        return 1.0
    return _OUT["c2c" if link_class(link) == "c2c" else "pcie"]


def duplex_fraction(link: Link | None) -> float:
    """Share of its rate that a direction keeps while the other one is in use too."""
    return 1.0 if link is None else _DUPLEX.get(link_class(link), _DUPLEX["pcie4"])
