"""From demand to a verdict: loads on every budget, the outcome code, and the most that fits."""

from typing import NamedTuple

from kvplan.core.accounts import Demand, Loads
from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.dram import all_traffic_bytes_per_s
from kvplan.core.kv_cache import whole_blocks
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.shapes import Plan

FITS = 0
TIGHT = 1
UNLIKELY = 2
NO = 3

FULL = 1.0 + 1e-9
"""Above this a budget is over: what spills fills HBM to the byte, and its sum may round up."""


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
    first_s = 0.0
    if plan.limits.ttft_s > 0.0:
        first_s = ttft_s(plan, placed, context_tokens)
    return loads_of(plan, demand(plan, placed, step, context_tokens, users), step.itl_s, first_s)


def loads_of(plan: Plan, asked: Demand, itl_s: float, first_s: float) -> Loads:
    """The same for a demand and times that are known."""
    dram = asked.dram_kv_bytes + asked.dram_index_bytes + asked.dram_weight_bytes + asked.dram_reuse_bytes
    dram += asked.dram_engine_bytes + asked.dram_other_bytes
    link = asked.link_kv_bytes_per_s + asked.link_weight_bytes_per_s + asked.link_reload_bytes_per_s
    link += asked.link_written_bytes_per_s + asked.link_collective_bytes_per_s + asked.link_other_bytes_per_s
    cores = asked.engine_cores + asked.lookup_cores + asked.attention_cores + asked.other_cores
    first = 0.0
    if plan.limits.ttft_s > 0.0:
        first = ratio(first_s, plan.limits.ttft_s)
    return Loads(
        ratio(asked.hbm_weight_bytes + asked.hbm_kv_bytes + asked.hbm_overhead_bytes, plan.limits.hbm_bytes),
        ratio(dram, plan.limits.dram_bytes),
        ratio(all_traffic_bytes_per_s(asked.dram_traffic), plan.host.dram_bytes_per_s),
        ratio(link, plan.host.link_bytes_per_s),
        ratio(cores, plan.host.cpu_cores),
        ratio(itl_s, plan.limits.itl_s),
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
    if heaviest(optimistic) > FULL:
        return NO
    if heaviest(best) > FULL:
        return UNLIKELY
    if heaviest(pessimistic) > FULL or heaviest_resource(best) > FULL - margin_fraction:
        return TIGHT
    return FITS


def heaviest_at(plan: Plan, context_tokens: float, users: float) -> float:
    """The largest load at this end of the uncertainty; at most 1.0 is inside every budget."""
    return heaviest(loads(plan, context_tokens, users))


class Bracket(NamedTuple):
    """A search between a value that fits and one that does not."""

    low: float
    room: float
    """How far the load at ``low`` is below 1.0."""
    high: float
    excess: float
    """How far the load at ``high`` is above 1.0."""
    same_side: float
    """How many guesses in a row became the same end: below zero the low one."""


def next_guess(bracket: Bracket) -> float:
    """A whole number strictly inside: where a straight line crosses 1.0, as most loads are straight.

    The middle, where the load is flat at either end or two guesses in a row became the same end: no search takes
    more than three times the guesses of halving.
    """
    middle = (bracket.low + bracket.high) // 2.0
    if bracket.room < 1e-6 or bracket.excess < 1e-6 or bracket.excess > 1e3 or abs(bracket.same_side) >= 2.0:
        return middle
    crossing = bracket.low + (bracket.high - bracket.low) * bracket.room / (bracket.room + bracket.excess)
    return min(max(crossing // 1.0, bracket.low + 1.0), bracket.high - 1.0)


def tightened(bracket: Bracket, guess: float, load: float) -> Bracket:
    """The bracket after one more load is known."""
    stuck = abs(bracket.same_side) >= 2.0
    if load <= FULL:
        run = -1.0 if stuck else min(bracket.same_side, 0.0) - 1.0
        return Bracket(guess, 1.0 - load, bracket.high, bracket.excess, run)
    run = 1.0 if stuck else max(bracket.same_side, 0.0) + 1.0
    return Bracket(bracket.low, bracket.room, guess, load - 1.0, run)


def most_users(plan: Plan, context_tokens: float, ceiling: float) -> float:
    """The most users that fit at a context: every load grows with users. 0 where not even one fits."""
    low = 1.0
    low_load = heaviest_at(plan, context_tokens, low)
    if low_load > FULL:
        return 0.0
    high = 2.0
    high_load = heaviest_at(plan, context_tokens, high)
    while high_load <= FULL:
        if high >= ceiling:
            return ceiling
        low = high
        low_load = high_load
        high = min(high * 4.0, ceiling)
        high_load = heaviest_at(plan, context_tokens, high)
    bracket = Bracket(low, 1.0 - low_load, high, high_load - 1.0, 0.0)
    while bracket.high - bracket.low > 1.0:
        guess = next_guess(bracket)
        bracket = tightened(bracket, guess, heaviest_at(plan, context_tokens, guess))
    return bracket.low


def longest_context(plan: Plan, users: float, ceiling: float) -> float:
    """The longest context at which so many users fit, in whole blocks, up to ``ceiling`` tokens. 0 where none does."""
    block = min(plan.kv[0].block_tokens, ceiling)
    found = longest_in_steps(plan, users, ceiling, block)
    if found == 0.0 and block > 1.0:
        return longest_in_steps(plan, users, block, 1.0)
    return found


def longest_in_steps(plan: Plan, users: float, ceiling: float, step_tokens: float) -> float:
    """The longest context that fits, in steps of ``step_tokens`` or ``ceiling`` itself. 0 where not one step fits."""
    low_load = heaviest_at(plan, step_tokens, users)
    if low_load > FULL:
        return 0.0
    high_load = heaviest_at(plan, ceiling, users)
    if high_load <= FULL:
        return ceiling
    bracket = Bracket(1.0, 1.0 - low_load, whole_blocks(ceiling, step_tokens) / step_tokens, high_load - 1.0, 0.0)
    while bracket.high - bracket.low > 1.0:
        guess = next_guess(bracket)
        bracket = tightened(bracket, guess, heaviest_at(plan, guess * step_tokens, users))
    return bracket.low * step_tokens
