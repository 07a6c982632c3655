"""KV104: too little headroom: it fits on the best estimate only, with less than the stated margin, or the engine takes
nearly the whole card, so that CUDA graphs, fragmentation and others have next to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import request_level, users_level, weights_level
from kvplan.rules.gpu_share import GpuShare
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import each_gpu, figures_of, gib_span, gib_text, spelled

ID = "KV104"
TITLE = "too little headroom: fits only on the best estimate, or next to nothing is left"
LEVEL = "warn"
MOST_UTILIZATION = 0.95
"""vllm#57475: 0.98 ran out of memory when CUDA graphs were captured, 0.97 started."""


def check(context: Context) -> Iterator[Finding]:
    yield from _whole_card(context)
    yield from _unchecked(context)
    yield from _tight(context)


def _whole_card(context: Context) -> Iterator[Finding]:
    """Needs no host: a fraction of any card."""
    utilization = context.number("gpu_memory_utilization")
    if not MOST_UTILIZATION < utilization <= 1.0 or context.has("kv_cache_memory_bytes"):
        return
    gpu = context.host.gpu if context.host is not None else None
    left = f", {gib_text(gpu.hbm_bytes.best * (1.0 - utilization))}" if gpu is not None else ""
    yield finding(
        ID, LEVEL, context, ("gpu_memory_utilization",),
        f"utilization {utilization:g} leaves {1.0 - utilization:.0%} of the card{left} for what is not in the budget: "
        "graph capture, fragmentation, other processes",
        figures={"utilization": utilization, "limit": MOST_UTILIZATION},
        formula=f"utilization <= {MOST_UTILIZATION:g}",
        remedy=spelled(context, "gpu_memory_utilization", MOST_UTILIZATION),
    )  # fmt: skip


def _unchecked(context: Context) -> Iterator[Finding]:
    """vLLM compares what is free with what it takes before it starts; without that it runs out of memory later."""
    if context.translated.is_on("skip_init_memory_check"):
        yield finding(
            ID, LEVEL, context, ("skip_init_memory_check",),
            "VLLM_SKIP_INIT_MEMORY_CHECK turns off vLLM's own check of free memory: what is missing shows under load",
            formula="free memory at start >= utilization x total",
            remedy="leave it out, and take a utilization that the card has free",
        )  # fmt: skip


def _tight(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None or judged.share.spills or weights_level(judged.share) is not None:
        return
    if judged.share.flexible:
        return  # what does not fit goes to the CPU
    if request_level(context) is not None or users_level(context) is not None:
        return
    need, what = _need(context, judged, judged.share)
    if need is None:
        return
    share = judged.share
    margin = judged.deployment.objectives.margin_fraction
    used = share.weights.best + share.overheads.best + need.best
    short = context.has("users", "context", "margin") and used > (1.0 - margin) * share.budget.best
    if need.high <= share.pool.low and not short:
        return
    if need.high > share.pool.low:
        why = f"the pool may be as small as {gib_text(share.pool.low)}"
    else:
        why = f"{1 - used / share.budget.best:.1%} of the budget is left, less than the margin of {margin:.0%}"
    yield finding(
        ID, LEVEL, context, ("users", "max_model_len", "context", "gpu_memory_utilization", "model"),
        f"{what} need {gib_text(need.best)} of KV{each_gpu(context)}, and the pool is {gib_span(share.pool)}: {why}",
        figures={
            "needed_bytes": figures_of(need),
            "pool_bytes": figures_of(share.pool),
            "used_bytes": round(used),
            "budget_bytes": figures_of(share.budget),
            "margin_fraction": margin,
        },
        formula="low budget - high weights - high overheads >= KV bytes, and used <= (1 - margin) x budget",
        remedy=_remedy(context, share),
    )  # fmt: skip


def _need(context: Context, judged: Judged, share: GpuShare) -> tuple[Interval | None, str]:
    """The larger of what the stated users and the longest request need, and its words."""
    workload, found = judged.deployment.workload, []
    if judged.length_tokens is not None:
        whose = "one request" if share.sequences == 1 else f"each of {share.sequences} slots"
        found.append((share.request_bytes(judged.length_tokens), f"{judged.length_tokens:,} tokens of {whose}"))
    if context.has("users", "context"):
        words = f"{workload.users:,} users of {judged.load_words}"
        found.append((share.kv_bytes(judged.load_tokens, workload.users), words))
    return max(found, key=lambda item: item[0].best, default=(None, ""))


def _remedy(context: Context, share: GpuShare) -> str | None:
    if context.has("users"):
        judged = context.judged
        users = int(share.most_users(judged.load_tokens).low) if judged else 0
        return f"users = {users}" if users else None
    longest = int(share.longest().low)
    return spelled(context, "max_model_len", longest) if longest else None
