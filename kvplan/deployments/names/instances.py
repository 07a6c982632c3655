"""Which catalog host an instance type, a shape or a node size means."""

from __future__ import annotations

from functools import lru_cache

from kvplan.catalog.files import Table, config_paths, listed_paths
from kvplan.catalog.hardware import host_table

_CHIPS = {"gb10": "dgx-spark", "nvidia-gb10": "dgx-spark"}
"""GPUs that are sold in one machine only, whose memory is the machine's. Source: NVIDIA's DGX Spark, and its partners'
boxes with the same module."""
_FAMILIES = {
    "g4dn": "t4", "g5": "a10g", "g6": "l4", "gr6": "l4", "g6e": "l40s", "g7e": "rtx-pro-6000", "p3": "v100-16gb",
    "p5": "h100",
}  # fmt: skip
"""Families of AWS in several sizes: the family tells the GPU, not the machine. Source: AWS's instance pages."""
_PREFIXES = ("ml.", "standard_")


def instance_host(text: str, extra: tuple[str, ...] = ()) -> str | None:
    """The catalog's host for ``p5.48xlarge``, ``ml.g5.12xlarge``, ``Standard_ND96isr_H100_v5`` or ``a3-highgpu-8g``."""
    if family_gpu(text) is not None:
        return None
    table, plain = _table(extra, (*config_paths(), *listed_paths())), text.strip()
    spellings = [plain, plain.lower()]
    for prefix in _PREFIXES:
        if plain.lower().startswith(prefix):
            spellings.append(plain[len(prefix) :])
    spellings += [f"Standard_{plain}", plain.replace("_", "-")]
    return next((found for found in map(table.find, spellings) if found is not None), None)


def family_gpu(text: str) -> str | None:
    """The GPU of an instance family whose size is not said: ``karpenter.k8s.aws/instance-family: g5``."""
    return _FAMILIES.get(text.strip().lower())


@lru_cache(maxsize=4)
def _table(extra: tuple[str, ...], files: tuple[str, ...]) -> Table:
    """All hosts, for the user's catalog ``files`` as they are listed now."""
    return host_table(extra)


def chip_host(product: str) -> str | None:
    """The host of a GPU that comes as a whole machine."""
    return _CHIPS.get(product.strip().lower())
