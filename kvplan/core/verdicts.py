"""From demand to a verdict: loads on every budget, the outcome code, and the most that fits."""

from __future__ import annotations

from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.shapes import Loads, Plan

FITS = 0
TIGHT = 1
UNLIKELY = 2
NO = 3


def ratio(used: float, limit: float) -> float:
    """Used over limit; 0 where nothing is used, very large where there is nothing to use."""
    if used <= 0.0:
        return 0.0
    if limit <= 0.0:
        return 1e30
    return used / limit


def loads(plan: Plan, context_tokens: float, users: float) -> Loads:
    """Demand over limit for every budget, and the step and first-token times over their objectives."""
    placed = place(plan, context_tokens, users)
    step = decode_step(plan, placed, context_tokens, users)
    asked = demand(plan, placed, step, context_tokens, users)
    dram = asked.dram_kv_bytes + asked.dram_weight_bytes + asked.dram_reuse_bytes
    dram += asked.dram_engine_bytes + asked.dram_other_bytes
    link = asked.link_kv_bytes_per_s + asked.link_weight_bytes_per_s + asked.link_reload_bytes_per_s
    link += asked.link_collective_bytes_per_s + asked.link_other_bytes_per_s
    cores = asked.engine_cores + asked.lookup_cores + asked.attention_cores + asked.other_cores
    first = 0.0
    if plan.limits.ttft_s > 0.0:
        first = ratio(ttft_s(plan, context_tokens), plan.limits.ttft_s)
    return Loads(
        ratio(asked.hbm_weight_bytes + asked.hbm_kv_bytes + asked.hbm_overhead_bytes, plan.limits.hbm_bytes),
        ratio(dram, plan.limits.dram_bytes),
        ratio(asked.dram_copy_bytes_per_s + asked.dram_cpu_bytes_per_s, plan.host.dram_bytes_per_s),
        ratio(link, plan.host.link_bytes_per_s),
        ratio(cores, plan.host.cpu_cores),
        ratio(step.itl_s, plan.limits.itl_s),
        first,
    )


def heaviest(load: Loads) -> float:
    """The largest load of all budgets and objectives."""
    return max(load.hbm, load.dram_capacity, load.dram_bandwidth, load.link, load.cpu_cores, load.itl, load.ttft)


def heaviest_resource(load: Loads) -> float:
    """The largest load of the budgets that must keep a margin free; objectives keep none."""
    return max(load.hbm, load.dram_capacity, load.dram_bandwidth, load.link, load.cpu_cores)


def outcome(optimistic: Loads, best: Loads, pessimistic: Loads, margin_fraction: float) -> int:
    """FITS, TIGHT, UNLIKELY or NO.

    NO needs the optimistic end over budget; UNLIKELY the best estimate; FITS needs the pessimistic end inside and the
    margin free at the best estimate; TIGHT is what lies between.
    """
    if heaviest(optimistic) > 1.0:
        return NO
    if heaviest(best) > 1.0:
        return UNLIKELY
    if heaviest(pessimistic) > 1.0 or heaviest_resource(best) > 1.0 - margin_fraction:
        return TIGHT
    return FITS


def fits_inside(plan: Plan, context_tokens: float, users: float) -> bool:
    """Whether this end of the uncertainty is inside every budget."""
    return heaviest(loads(plan, context_tokens, users)) <= 1.0


def most_users(plan: Plan, context_tokens: float, ceiling: float) -> float:
    """The most users that fit at a context, by bisection: every load grows with users. 0 where not even one fits."""
    if not fits_inside(plan, context_tokens, 1.0):
        return 0.0
    low = 1.0
    high = 2.0
    while high <= ceiling and fits_inside(plan, context_tokens, high):
        low = high
        high *= 2.0
    high = min(high, ceiling + 1.0)
    while high - low > 1.0:
        middle = (low + high) // 2.0
        if fits_inside(plan, context_tokens, middle):
            low = middle
        else:
            high = middle
    return low


def longest_context(plan: Plan, users: float, ceiling: float) -> float:
    """The longest context at which so many users fit, up to ``ceiling`` tokens, by bisection. 0 where none does."""
    if not fits_inside(plan, 1.0, users):
        return 0.0
    if fits_inside(plan, ceiling, users):
        return ceiling
    low = 1.0
    high = ceiling
    while high - low > 1.0:
        middle = (low + high) // 2.0
        if fits_inside(plan, middle, users):
            low = middle
        else:
            high = middle
    return low
