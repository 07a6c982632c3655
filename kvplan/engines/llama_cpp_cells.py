"""How many cells llama.cpp's caches have, and how wide a row of each type is, by build.

A cell is room for one token. A cache is cut into streams, one for each slot, unless it is unified.
Source: llama-context.cpp, llama-kv-cache*.cpp and llama-hparams.cpp in a fork with upstream's history up to May 2026
(build numbers are upstream's commit counts); llama-kv-cache-dsa.cpp and -dsv4.cpp of August 2026.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.errors import CannotJudge

TYPE_BYTES: Final = {
    "f32": 128, "f16": 64, "bf16": 64, "q8_0": 34, "q6_0": 26, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18,
    "iq4_nl": 18,
}  # fmt: skip
"""Bytes of 32 elements. ``q6_0`` is ik_llama.cpp's."""

SWA_BUILD: Final = 5429
"""#13194, May 2025: windows have caches of their own."""
MICRO_BATCH_BUILD: Final = 5554
"""#13833: these hold a micro-batch beyond the window, a whole batch before."""
SPLIT_BUILD: Final = 6307
"""#15505: streams, which exist since #14363 (b5913, July 2025), are used by default."""
PAD_BUILD: Final = 6975
"""#17046, November 2025: everything is padded to 256 cells."""
LATENT_BUILD: Final = 5137
"""#12801, April 2025: MLA keeps one latent; before it the keys and values of all heads."""
KEYS_ONLY_BUILD: Final = 7832
"""#19067, January 2026: ... and no second copy of it as V."""
_PAD, _OLD_PAD = 256, 32


class Slots(NamedTuple):
    """What the server is started with."""

    build: int
    context_tokens: int
    """``-c``: of all slots together."""
    slots: int = 1
    """``-np``"""
    unified: bool = False
    """``-kvu``: one stream that all slots share. A server that is not told ``-np`` has four slots and this."""
    micro_batch_tokens: int = 512
    batch_tokens: int = 2048
    flash: bool = True
    window_full: bool = False
    """``--swa-full``"""


class Cells(NamedTuple):
    """Cells of one stream, and streams."""

    cells: int
    streams: int


def padding(slots: Slots) -> int:
    """Cells that a cache is a multiple of: 256, before November 2025 32 without flash attention."""
    return _PAD if slots.build >= PAD_BUILD or slots.flash else _OLD_PAD


def pad(cells: int, multiple: int) -> int:
    """Rounded up."""
    return -(-cells // multiple) * multiple


def is_unified(slots: Slots) -> bool:
    """One stream for all: chosen, or the only way before streams were used by default."""
    return slots.unified or slots.slots == 1 or slots.build < SPLIT_BUILD


def stream_cells(slots: Slots) -> Cells:
    """Cells for tokens that are kept. Padding each stream may give more than was asked for."""
    multiple = padding(slots)
    if is_unified(slots):
        return Cells(pad(slots.context_tokens, multiple), 1)
    if slots.build >= PAD_BUILD:
        each = pad(slots.context_tokens, multiple) // slots.slots
    else:
        each = -(-slots.context_tokens // slots.slots)
    return Cells(pad(each, multiple), slots.slots)


def window_cells(slots: Slots, window_tokens: int) -> Cells:
    """Cells of the cache of windows: window (for every slot where unified) + micro-batch, at most the context."""
    full = stream_cells(slots)
    if slots.window_full or slots.build < SWA_BUILD:
        return full
    beyond = slots.micro_batch_tokens if slots.build >= MICRO_BATCH_BUILD else slots.batch_tokens
    wanted = window_tokens * (slots.slots if full.streams == 1 else 1) + beyond
    if slots.build >= PAD_BUILD:
        return full._replace(cells=pad(min(full.cells, wanted), _PAD))
    return full._replace(cells=min(full.cells, pad(wanted, padding(slots))))


def row_bytes(type_name: str, elements: int) -> float:
    """Bytes of one row: blocks of 32 elements."""
    if type_name not in TYPE_BYTES:
        raise CannotJudge(f"llama.cpp's KV type {type_name!r} is not modelled", help="known: " + ", ".join(TYPE_BYTES))
    if elements % 32 and TYPE_BYTES[type_name] % 32:
        raise CannotJudge(f"rows of {elements} elements do not divide into blocks of 32: llama.cpp refuses {type_name}")
    return elements * TYPE_BYTES[type_name] / 32
