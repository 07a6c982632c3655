"""What changed in vLLM's KV accounting, and in which version."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.engines.versions import release

DEFAULT_BLOCK_TOKENS = 16
DEFAULT_BATCHED_TOKENS = 2048
"""``max_num_batched_tokens`` of the scheduler's own configuration; servers on large cards start with more."""
SWAP_GIB = 4.0
"""Host memory for swapped blocks: V0's default."""


class Rules(NamedTuple):
    """The accounting of one version."""

    version: tuple[int, ...]
    v0: bool
    """The first engine: blocks of 16 tokens over all layers, no groups."""
    groups_kinds: bool
    """The hybrid manager: kinds of layers have block tables of their own."""
    unifies_pages: bool
    """Smaller pages get longer blocks until all are equal; before, unequal ones ended the start."""
    pads_pages: bool
    """Pages that don't divide the largest one are padded to it; before, they ended the start."""
    joins_within: float
    """Groups are as large as the most frequent kind where it has fewer than so many times the layers of the rarest."""
    counts_blocks: bool
    """``GPU KV cache size`` is blocks / groups x block; since, concurrency x the longest request."""
    rounds_each_group: bool
    """Blocks of a request are rounded up group by group; before, once over their sum."""
    one_line: bool
    """Tokens and concurrency are one line."""
    batches_in_flight: bool
    """Windows hold every batch that is in flight, not one."""
    runs_ahead: bool
    """The second model runner is everyone's default: pp + 1 batches are in flight."""
    caches_states: bool
    """Prefix caching is on for hybrids by default: ``mamba_cache_mode`` align."""


def rules_of(version: str) -> Rules:
    """The accounting of a version such as ``0.20.1``."""
    found = release(version)
    return Rules(
        version=found,
        v0=found < (0, 8),
        groups_kinds=found >= (0, 9, 1),
        unifies_pages=found >= (0, 12),
        pads_pages=found >= (0, 25),
        joins_within=1.5 if found >= (0, 18) else 1.25 if found >= (0, 12) else 1.0,
        counts_blocks=found < (0, 21),
        rounds_each_group=found >= (0, 27),
        one_line=found >= (0, 28),
        batches_in_flight=found >= (0, 26),
        runs_ahead=found >= (0, 29),
        caches_states=found >= (0, 26),
    )


def ceil_div(dividend: int, divisor: int) -> int:
    """Rounded up."""
    return -(-dividend // divisor)


def round_up(value: int, multiple: int) -> int:
    """The next multiple."""
    return ceil_div(value, multiple) * multiple


def in_flight_tokens(rules: Rules, batched_tokens: int, pp: int) -> int:
    """Tokens that are scheduled and not settled, which layers with windows hold beyond them.

    One batch before 0.26; then one for each pipeline stage, and one more under asynchronous scheduling, which is on by
    default (with several stages only in the second model runner).
    """
    if not rules.batches_in_flight:
        return batched_tokens
    return batched_tokens * (pp + 1 if pp == 1 or rules.runs_ahead else pp)
