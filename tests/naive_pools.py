"""Pools of other engines, filled the slow way: a page, a padding or a token at a time, byte by byte.

Shares no code with kvplan, and must not import it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SglangLayer:
    """One attention layer of 16-bit keys and values."""

    heads: int
    width: int
    in_window_pool: bool


def token_bytes(heads: int, width: int, ranks: int) -> int:
    """Bytes of a token in one layer on rank 0, head by head."""
    owned = [head for head in range(heads) if head * ranks // heads == 0] if heads >= ranks else [0]
    total = 0
    for _ in owned:
        for _kind in ("key", "value"):
            total += 2 * width
    return total


def sglang_pages(layers: list[SglangLayer], ranks: int, page_tokens: int, pool_bytes: int) -> int:
    """Whole pages of full tokens, each of which charges 0.8 of a token to the pool of windows."""
    tenths = 0
    for layer in layers:
        tenths += token_bytes(layer.heads, layer.width, ranks) * (8 if layer.in_window_pool else 10)
    pages = 0
    while (pages + 1) * page_tokens * tenths <= pool_bytes * 10:
        pages += 1
    return pages


@dataclass(frozen=True)
class LlamaLayer:
    """One layer of llama.cpp: K and V widths in elements, a window or none, a state or none (32-bit elements)."""

    key: int
    value: int
    window: int = 0
    state: int = 0


def blocks_bytes(elements: int, block_bytes: int) -> int:
    """Blocks of 32 elements, one after the other."""
    total = 0
    while elements > 0:
        total, elements = total + block_bytes, elements - 32
    return total


def llama_bytes(layers: list[LlamaLayer], cells: int, slots: int, micro_batch: int, types: tuple[int, int]) -> int:
    """All caches of ``slots`` streams of ``cells`` cells each (builds from November 2025 on)."""
    total = 0
    for _stream in range(slots):
        for layer in layers:
            kept = cells
            if layer.window:
                kept = min(cells, layer.window + micro_batch)
                while kept % 256:
                    kept += 1
            row = blocks_bytes(layer.key, types[0]) + blocks_bytes(layer.value, types[1])
            total += 4 * layer.state if layer.state else kept * row
    return total


def llama_cells(layers: list[LlamaLayer], slots: int, micro_batch: int, types: tuple[int, int], pool: int) -> int:
    """Cells of all streams, 256 more in each at a time while they fit."""
    cells = 0
    while llama_bytes(layers, cells + 256, slots, micro_batch, types) <= pool:
        cells += 256
    return cells * slots


def tensorrt_blocks(layers: int, heads: int, width: int, ranks: int, block_tokens: int, pool_bytes: int) -> int:
    """Tokens are counted one by one while they fit; blocks are opened for all of them."""
    one = 0
    for _layer in range(layers):
        one += token_bytes(heads, width, ranks)
    blocks, free, used = 0, 0, one
    while used <= pool_bytes:
        if free == 0:
            blocks, free = blocks + 1, block_tokens
        free -= 1
        used += one
    return blocks
