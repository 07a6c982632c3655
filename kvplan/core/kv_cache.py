"""KV bytes of one sequence on one GPU."""

from __future__ import annotations

import math

from kvplan.core.shapes import KvGrowth, KvGrowths


def whole_blocks(tokens: float, block_tokens: float) -> float:
    """Tokens rounded up to whole blocks."""
    return math.ceil(tokens / block_tokens) * block_tokens


def growing_bytes(kv: KvGrowths, tokens: float) -> float:
    """Bytes of the layers that keep every token: bytes per token x tokens in whole blocks, summed over kinds."""
    total = 0.0
    for growth in kv:
        if growth.window_tokens == 0.0 and growth.bytes_per_token > 0.0:
            total += growth.bytes_per_token * whole_blocks(tokens, growth.block_tokens)
    return total


def growing_read_bytes(kv: KvGrowths, tokens: float) -> float:
    """Bytes of the growing layers that one decode step reads: sparse attention reads the tokens that it chose."""
    total = 0.0
    for growth in kv:
        if growth.window_tokens == 0.0 and growth.bytes_per_token > 0.0:
            read = whole_blocks(tokens, growth.block_tokens)
            if growth.read_tokens > 0.0:
                read = min(read, growth.read_tokens)
            total += growth.bytes_per_token * read
    return total


def growing_bytes_per_token(kv: KvGrowths) -> float:
    """What one more token costs once every window is full."""
    total = 0.0
    for growth in kv:
        if growth.window_tokens == 0.0:
            total += growth.bytes_per_token
    return total


def reserved_tokens(growth: KvGrowth, tokens: float) -> float:
    """Tokens that a windowed layer reserves for a sequence, at most the sequence itself, in whole blocks.

    The window, what the engine adds to it, and the block that straddles its edge.
    """
    kept = growth.window_tokens + growth.reserve_tokens + growth.block_tokens - 1.0
    return whole_blocks(min(kept, tokens), growth.block_tokens)


def bounded_bytes(kv: KvGrowths, tokens: float) -> float:
    """Bytes of windows (as reserved) and of states: what stops growing."""
    total = 0.0
    for growth in kv:
        total += growth.bytes_per_sequence
        if growth.window_tokens > 0.0:
            total += growth.bytes_per_token * reserved_tokens(growth, tokens)
    return total


def fixed_bytes(kv: KvGrowths) -> float:
    """Bytes that a sequence holds whatever its length."""
    total = 0.0
    for growth in kv:
        total += growth.bytes_per_sequence
    return total


def bounded_read_bytes(kv: KvGrowths, tokens: float) -> float:
    """Bytes of windows and states that one decode step reads."""
    total = 0.0
    for growth in kv:
        total += growth.bytes_per_sequence
        if growth.window_tokens > 0.0:
            total += growth.bytes_per_token * min(growth.window_tokens, tokens)
    return total


def in_flight_bytes(kv: KvGrowths, tokens: float, sequences: float) -> float:
    """Bytes that windowed layers hold beyond their windows while a step prefills sequences of so many tokens.

    At most the tokens that the sequences have beyond their windows: vLLM holds min(window - 1 + in flight, tokens).
    """
    total = 0.0
    for growth in kv:
        if growth.window_tokens > 0.0:
            beyond = sequences * max(tokens - reserved_tokens(growth, tokens), 0.0)
            total += growth.bytes_per_token * min(growth.in_flight_tokens, beyond)
    return total


def sequence_bytes(kv: KvGrowths, tokens: float) -> float:
    """All KV of one sequence of so many tokens, as reserved."""
    return growing_bytes(kv, tokens) + bounded_bytes(kv, tokens)
