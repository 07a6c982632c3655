"""From bytes to blocks, tokens and requests, and the lines that vLLM writes about them."""

from __future__ import annotations

from kvplan.engines.kv_layout import PoolCount
from kvplan.engines.vllm_memory.groups import Grouping
from kvplan.engines.vllm_memory.rules import Rules, ceil_div
from kvplan.units import gib


def request_blocks(grouping: Grouping, tokens: int, in_flight: int, dcp: int) -> int:
    """Blocks of one request of so many tokens, over all groups."""
    return sum(group.request_blocks(tokens, in_flight, dcp) for group in grouping.groups)


def counted_blocks(grouping: Grouping, rules: Rules, tokens: int, in_flight: int, dcp: int) -> int:
    """The blocks of a request that concurrency is counted with: before 0.27 bytes over the first group's page."""
    if rules.rounds_each_group:
        return request_blocks(grouping, tokens, in_flight, dcp)
    together = sum(group.page_bytes * group.request_blocks(tokens, in_flight, dcp) for group in grouping.groups)
    return ceil_div(together, grouping.groups[0].page_bytes)


def count_pool(grouping: Grouping, rules: Rules, blocks: int, request: int, longest: int, dcp: int) -> PoolCount:
    """What the engine says of so many blocks, one request of ``longest`` tokens taking ``request`` of them."""
    concurrency = blocks / request
    if rules.counts_blocks:
        shortest = min(page.block_tokens for group in grouping.groups for page in group.pages)
        tokens = blocks // len(grouping.groups) * shortest * dcp
        if not rules.groups_kinds:
            concurrency = tokens / longest
    else:
        tokens = int(concurrency * longest)
    return PoolCount(blocks, tokens, concurrency, log_line(rules, tokens, longest, concurrency))


def log_line(rules: Rules, tokens: int, longest: int, concurrency: float) -> str:
    """The line about tokens and the line about concurrency; since 0.28 they are one."""
    joint = ", " if rules.one_line else "\n"
    held = f"Maximum concurrency for {longest:,} tokens per request: {concurrency:.2f}x"
    return f"GPU KV cache size: {tokens:,} tokens{joint}{held}"


def count_v0_pool(block_bytes: int, pool_bytes: float, swap_gib: float, longest: int, block_tokens: int) -> PoolCount:
    """V0: blocks on the GPU, and as many on the host as its swap space holds."""
    blocks, host_blocks = int(pool_bytes // block_bytes), int(gib(swap_gib) // block_bytes)
    tokens = blocks * block_tokens
    concurrency = tokens / longest
    lines = (
        f"# GPU blocks: {blocks}, # CPU blocks: {host_blocks}",
        f"Maximum concurrency for {longest} tokens per request: {concurrency:.2f}x",
    )
    return PoolCount(blocks, tokens, concurrency, "\n".join(lines))
