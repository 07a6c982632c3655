"""A pool of so many bytes: what it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvplan.core.kv_cache import bounded_bytes, growing_bytes_per_token, sequence_bytes
from kvplan.core.shapes import KvGrowths
from kvplan.errors import InputError
from kvplan.units import LARGEST_COUNT, gib, shorten

NO_GROWTH_LIMIT = float(LARGEST_COUNT)
"""A sequence so long that every window of it is full."""


@dataclass(frozen=True, slots=True)
class KvPool:
    """What a pool of so many bytes on every GPU holds.

    Where every layer keeps every token, ``tokens`` is the pool over the bytes of a token. With windows the cost of a
    token depends on its place, so sequences of --context are counted: ``tokens`` is max concurrency x context.
    """

    pool_bytes: int
    blocks: int
    tokens: int
    max_concurrency: float | None
    """Sequences that are held at once, of --context, or of --max-model-len; not rounded. None where the engine prints
    no such number."""
    log_line: str | None
    """The line that the engine prints; ``generic`` prints none."""


def pool_of(pool_bytes: int, growths: KvGrowths, context: float, block_tokens: int) -> KvPool:
    """What a pool holds: whole blocks where every layer keeps every token, else sequences of ``context`` tokens."""
    one_sequence = sequence_bytes(growths, context)
    plain = one_sequence > 0.0 and bounded_bytes(growths, NO_GROWTH_LIMIT) == 0.0
    if plain:
        tokens = int(pool_bytes // (growing_bytes_per_token(growths) * block_tokens)) * block_tokens
    else:
        tokens = int(pool_bytes * context // one_sequence)
    return KvPool(pool_bytes, tokens // block_tokens, tokens, pool_bytes / one_sequence, None)


def asked_bytes(pool_gib: float | None, pool_bytes: int | None) -> int | None:
    """``--pool-gib`` or ``--pool-bytes`` in bytes; None where neither is given."""
    if pool_gib is not None and pool_bytes is not None:
        raise InputError("--pool-gib and --pool-bytes say the same thing twice", help="leave one of them out")
    flag, value = ("--pool-gib", pool_gib) if pool_gib is not None else ("--pool-bytes", pool_bytes)
    if value is None:
        return None
    wanted = gib(value) if pool_gib is not None else value
    if not math.isfinite(wanted) or not 1 <= wanted <= LARGEST_COUNT:
        raise InputError(f"{flag} must be greater than 0 and at most 2^53 bytes (it is {shorten(repr(value))})")
    return int(wanted)
