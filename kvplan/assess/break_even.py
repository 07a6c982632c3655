"""Where KV in host memory pays: from which cached length a reload beats computing it, and above which share of hits.

Both are solved on the core's own time to first token, so that they hold for this model, host, link and load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from kvplan.core.answers import Ends
from kvplan.core.placement import place
from kvplan.core.prefill import prefill_s, ttft_s
from kvplan.core.shapes import Plan
from kvplan.domain.assessment import BreakEven
from kvplan.domain.interval import Interval

COST_AT_NO_HITS_FRACTION = 0.03
"""What keeping KV in host memory takes from prefill throughput where nothing is found there.

Source: vLLM offloading connector on H100, 42.2 of 43.5 thousand tokens/s at 0 % of hits.
"""
RELOAD_FIXED_S = Interval(0.010, 0.012, 0.015)
"""Source: the same connector's reload times, 10 points."""
LONGEST_TOKENS = 2**28
"""No break-even up to here is none."""

Solve = Callable[[Plan], float]


def break_even(ends: Ends, prompt_tokens: float) -> BreakEven | None:
    """Both break-evens of a strategy that reloads KV; None for any other."""
    if not ends[1].charges.reuse:
        return None
    near = reload_break_even_tokens(ends[1])
    reload = _interval(ends, lambda plan: reload_break_even_tokens(plan, near), float(LONGEST_TOKENS))
    paying = _interval(ends, lambda plan: hit_break_even_fraction(plan, prompt_tokens), 1.0)
    return BreakEven(None if reload is None else reload.map(math.floor), paying)


def first_token_s(plan: Plan, prompt_tokens: float, hit_fraction: float) -> float:
    """Time to first token of a prompt of which such a share is found in host memory, nothing in HBM."""
    traffic = plan.traffic._replace(prompt_fraction=1.0, hit_fraction=hit_fraction, shared_prefix_tokens=0.0)
    changed = plan._replace(traffic=traffic)
    return ttft_s(changed, place(changed, prompt_tokens, 1.0), prompt_tokens)


def reload_break_even_tokens(plan: Plan, near_tokens: float = 0.0) -> float:
    """Cached tokens from which reloading them gives the first token sooner than computing them; infinite: never.

    In whole blocks. The reload's fixed time is lost on short prefixes; computing grows faster than the prefix does,
    so that the two cross once. A search that begins near the answer (``near_tokens``) is a short one.
    """
    block = plan.kv[0].block_tokens

    def pays(blocks: int) -> bool:
        return first_token_s(plan, blocks * block, 1.0) < first_token_s(plan, blocks * block, 0.0)

    low, high = 0, max(int(min(near_tokens, LONGEST_TOKENS) // block), 1)
    step = max(high // 4, 1)
    while not pays(high):
        if high * block > LONGEST_TOKENS:
            return math.inf
        low, high, step = high, high + step, step * 2
    if low == 0:
        low = max(high - step, 0)
        while low > 0 and pays(low):
            high, step = low, step * 2
            low = max(high - step, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high * block


def reload_s(plan: Plan, prompt_tokens: float) -> float:
    """Time that a prompt's KV takes over the link, without the fixed time that other requests hide."""
    free = plan._replace(traffic=plan.traffic._replace(reload_fixed_s=0.0))
    nothing = tuple(growth._replace(bytes_per_token=0.0) for growth in plan.kv)
    without = free._replace(kv=nothing)  # type: ignore[arg-type]
    return first_token_s(free, prompt_tokens, 1.0) - first_token_s(without, prompt_tokens, 1.0)


def hit_break_even_fraction(plan: Plan, prompt_tokens: float) -> float:
    """Share of prompt tokens found in host memory above which prefill throughput gains; above 1: never.

    Work is additive: (1 - x) x computing / 0.97 + x x reloading, against computing alone.
    Source: vLLM offloading connector, 11 points, 3.3 % mean error; taking the longer of the two errs up to 97 %.
    """
    computing = prefill_s(plan, prompt_tokens, 0.0)
    slowed = computing / (1.0 - COST_AT_NO_HITS_FRACTION)
    gained = slowed - reload_s(plan, prompt_tokens)
    return math.inf if gained <= 0.0 else (slowed - computing) / gained


def _interval(ends: Ends, solve: Solve, most: float) -> Interval | None:
    """The best estimate and how far it may be off; None where there is none at the best estimate.

    The link and the prefill rate err independently of each other, so their distances are added in quadrature, as
    ratios. An end beyond ``most`` is ``most``.
    """
    best = solve(ends[1])
    if best > most:
        return None
    low = high = 0.0
    for one, other in _pairs(ends):
        found = sorted((solve(one), solve(other)))
        low += _distance(best, found[0], most) ** 2
        high += _distance(found[1], best, most) ** 2
    return Interval(best / math.exp(math.sqrt(low)), best, min(best * math.exp(math.sqrt(high)), most))


def _distance(larger: float, smaller: float, most: float) -> float:
    """Logarithm of a ratio; 0 where the order is the other way round."""
    return max(math.log(min(larger, most) / smaller), 0.0) if smaller > 0.0 else 0.0


def _pairs(ends: Ends) -> Iterable[tuple[Plan, Plan]]:
    """The best plan with one thing at its two ends: the link, the GPU, the fixed time of a reload."""
    low, best, high = ends
    yield _linked(best, low), _linked(best, high)
    yield best._replace(gpu=low.gpu), best._replace(gpu=high.gpu)
    yield _fixed(best, RELOAD_FIXED_S.low), _fixed(best, RELOAD_FIXED_S.high)


def _linked(best: Plan, end: Plan) -> Plan:
    return best._replace(host=end.host, charges=end.charges)


def _fixed(best: Plan, seconds: float) -> Plan:
    return best._replace(traffic=best.traffic._replace(reload_fixed_s=seconds))
