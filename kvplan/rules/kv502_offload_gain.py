"""KV502: what KV in host memory costs over this link, and what it saves.

A prefix found in host memory is copied instead of computed. Copying takes KV bytes / rate of the link and a fixed time,
computing takes the prefill of those tokens: short prefixes are computed sooner. Where the GPU's own pool holds hardly
two requests, everything is copied out and in again. Where GPUs meet over PCIe, copies and collectives share the link.
Sources: LMCache issue 1241 (18k tokens 27 % slower, 88k tokens 70 % faster), vLLM issue 32604, club-3090 issue 133.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.assess.break_even import first_token_s
from kvplan.assess.frame import plan_ends
from kvplan.core.answers import Ends
from kvplan.domain.host import Host
from kvplan.rules.context import Context, Judged
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.fitting import request_level, weights_level
from kvplan.rules.host_use import OFFLOADS, pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text
from kvplan.strategies import find_strategy
from kvplan.units import to_gb_per_s

ID = "KV502"
TITLE = "what KV in host memory costs over this link"
LEVEL = "warn"
FEW_REQUESTS = 2.0
_OF_WEIGHTS = ("cpu_offload_gb", "swap_space")
"""Host memory that no idle KV lies in."""
_BLAME = (*OFFLOADS, "hicache_ratio", "hicache_gb_per_rank", "kv_transfer_config", "strategy", "model")


class _Times(NamedTuple):
    """Seconds to a prompt's first token at the best estimate: all of it reloaded, and all of it computed."""

    tokens: int
    reload_s: float
    compute_s: float


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None:
        if any(part.name in OFFLOADS and part.name not in _OF_WEIGHTS for part in pinned_parts(context)):
            yield from _shared_link(context, context.host, ranks_of(context).tp)
        return
    if judged.share is None or "offload-reuse" not in judged.configured.id.split("+"):
        return
    if weights_level(judged.share) is not None or request_level(context) is not None:
        return  # nothing runs, so nothing is saved
    yield from _small_pool(context, judged)
    yield from _shared_link(context, judged.deployment.host, judged.deployment.layout.tp)
    if judged.configured.break_even is not None:
        yield _gain(context, judged)


def _gain(context: Context, judged: Judged) -> Finding:
    ends = plan_ends(judged.frame, find_strategy(judged.configured.id))
    times, even = _times(judged, ends), judged.configured.break_even
    reload_tokens = even.reload_tokens if even is not None else None
    link = judged.deployment.host.link
    rate = to_gb_per_s(ends[1].charges.link_rate_fraction * ends[1].host.link_bytes_per_s)
    kv_bytes = (judged.configured.kv_bytes_per_token or 0.0) * times.tokens
    words = (
        f"a prefix of {times.tokens:,} tokens ({gib_text(kv_bytes)} on each GPU) is reloaded in {times.reload_s:.3g} s "
        f"at {rate:.3g} GB/s and computed in {times.compute_s:.3g} s"
    )
    if reload_tokens is None:
        level, why = LEVEL, "computing is faster at any length"
    else:
        least = f"{reload_tokens.best:,.0f} ({reload_tokens.low:,.0f}..{reload_tokens.high:,.0f})"
        level = "info" if times.reload_s < times.compute_s else LEVEL
        why = f"reloading pays from {least} tokens on"
    return finding(
        ID, level, context, _BLAME, f"{words}: {why}",
        figures={
            "prefix_tokens": times.tokens,
            "kv_bytes": round(kv_bytes),
            "reload_s": times.reload_s,
            "compute_s": times.compute_s,
            "reload_break_even_tokens": dict(reload_tokens._asdict()) if reload_tokens is not None else None,
            "hit_break_even_fraction": dict(even.hit_fraction._asdict()) if even and even.hit_fraction else None,
            "link": link.kind if link is not None else None,
        },
        formula="KV bytes / rate of the link + fixed time against prefill of the same tokens",
        remedy=None if level == "info" else "leave the offload out, or take a host with a faster link",
    )  # fmt: skip


def _times(judged: Judged, ends: Ends) -> _Times:
    tokens, best = max(int(judged.load_tokens), 1), ends[1]
    return _Times(tokens, first_token_s(best, tokens, 1.0), first_token_s(best, tokens, 0.0))


def _small_pool(context: Context, judged: Judged) -> Iterator[Finding]:
    share, tokens = judged.share, judged.length_tokens or int(judged.load_tokens)
    assert share is not None
    one = share.kv_bytes(tokens)
    if not one.best or share.pool.best >= FEW_REQUESTS * one.best:
        return
    held = share.pool.best / one.best
    message = (
        f"the GPU's own pool holds {held:.2g} requests of {tokens:,} tokens: below {FEW_REQUESTS:g} the offload moves "
        "KV out and in again for every request"
    )
    yield finding(
        ID, LEVEL, context, _BLAME, message,
        figures={"pool_bytes": round(share.pool.best), "request_bytes": round(one.best), "requests": held},
        formula="KV pool / KV bytes of one request of the longest length >= 2",
        remedy=f"a length of {int(share.longest().low // FEW_REQUESTS):,} tokens, or more GPU memory for KV",
    )  # fmt: skip


def _shared_link(context: Context, host: Host | None, tp: int) -> Iterator[Finding]:
    """Known without a model: GPUs that meet over PCIe, several ranks, KV in host memory."""
    if tp == 1 or host is None or host.gpu is None or host.gpu.peer_bytes_per_s is not None or host.unified_memory:
        return
    message = (
        f"{tp} tensor-parallel {host.gpu.name} meet over PCIe: copies of KV share that link with the "
        "collectives of every layer, and decoding slows down while they run"
    )
    yield finding(
        ID, LEVEL, context, _BLAME, message,
        figures={"tp": tp, "source": "https://github.com/vllm-project/vllm/issues/32604"},
        formula="link = copies of KV + collectives of tensor parallelism",
        remedy="fewer tensor-parallel ranks, or GPUs with a link of their own (NVLink)",
    )  # fmt: skip
