"""Weight schemes that checkpoints have and no flag names, from names that say what they are.

``int4-g64``: 4-bit integers with a 16-bit scale per group of 64; ``-zp`` adds a zero point of as many bits, ``-zp16``
one of 16 bits (HQQ). ``int4-row``: one 16-bit scale per output row. ``fp8-b32-ue8m0``: FP8 with a one-byte scale per
block of 32, without ``-ue8m0`` one of four bytes. ``X-experts``: only routed experts are stored as X. ``X+Y-experts``:
routed experts as Y, the other matrices as X.
"""

from __future__ import annotations

import re

from kvplan.domain.weight_scheme import SCHEMES, WeightScheme

_INTEGERS = re.compile(r"^int([2-8])-(?:g(\d{1,5})|row)(-zp|-zp16)?$")
_PACKED_BITS = {3: 3.2}
"""HQQ puts ten 3-bit weights into 32 bits; GPTQ packs them without loss."""
_BLOCKS = re.compile(r"^fp8-b(\d{1,5})(-ue8m0)?$")
_OTHERS = {
    "mxfp8": (8.25, "e4m3 + 8-bit scale per 32"),
    "mxfp4-linear": (4.25, "e2m1 + 8-bit scale per 32, of all matrices"),
    "bnb-nf4-single": (4.5, "NF4 + 32-bit scale per 64"),
}
_ROW_SCALE_BITS = 0.004
"""16 bits over a row of 4096."""


def derived(name: str) -> WeightScheme:
    """The scheme of a composed name; KeyError where it is none."""
    if name.endswith("-experts"):
        dense, _, routed = name.removesuffix("-experts").rpartition("+")
        experts = SCHEMES[routed]
        if not dense:
            return experts._replace(name=name, experts_only=True)
        return SCHEMES[dense]._replace(name=name, experts_only=False, expert_bits=experts.linear_bits)
    if name in _OTHERS:
        bits_each, layout = _OTHERS[name]
        return WeightScheme(name, bits_each, source=f"{layout}: arithmetic of the layout")
    blocks = _BLOCKS.match(name)
    if blocks is not None and int(blocks[1]):
        scale_bits = 8 if blocks[2] else 32
        return WeightScheme(name, 8 + scale_bits / int(blocks[1]), source=f"e4m3 + {scale_bits}-bit scale per block")
    found = _INTEGERS.match(name)
    if found is None or found[2] == "0":
        raise KeyError(name)
    bits, zeros = int(found[1]), found[3]
    group = int(found[2]) if found[2] else None
    aside = 16 / group if group else _ROW_SCALE_BITS
    if zeros and group:
        aside += (16 if zeros == "-zp16" else bits) / group
    element = _PACKED_BITS.get(bits, bits) if zeros == "-zp16" else bits
    return WeightScheme(name, element + aside, source=f"{bits} bits + scales of the group: arithmetic of the layout")
