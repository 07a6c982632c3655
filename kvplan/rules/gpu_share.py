"""How one GPU's memory is shared out, at the optimistic, the best and the pessimistic end.

KV pool = budget - (weights - what is kept in host memory) - activations - runtime - graphs, or what
``--kv-cache-memory-bytes`` says it is. The pool may come out negative: then not even the weights fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kvplan.assess.frame import Frame, plan_ends
from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.core.placement import overhead_bytes, resident_kv_bytes, sequences_per_replica
from kvplan.core.shapes import Plan
from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Strategy

MOST_TOKENS = 2**26
MOST_USERS = 2**20


@dataclass(frozen=True, slots=True)
class GpuShare:
    """One GPU under one strategy."""

    plans: tuple[Plan, Plan, Plan]
    """Optimistic, best, pessimistic."""
    budget: Interval
    weights: Interval
    """On the GPU, without what is kept in host memory."""
    overheads: Interval
    pool: Interval
    fixed_pool: bool = False
    """The pool is what the file says, not what is left."""
    flexible: bool = False
    """The engine gives the CPU the layers that do not fit: too much is slow, and starts all the same."""
    sequences: int = 1
    """Sequences whose KV is taken from the start: one, or every slot of an engine without pages."""
    kv_fraction: float = 1.0
    """Of the KV, what lies on the GPU: that of the layers that are there."""

    def with_weights(self, low_factor: float, high_factor: float) -> GpuShare:
        """The same with weights that are known less well."""
        weights = Interval(self.weights.low * low_factor, self.weights.best, self.weights.high * high_factor)
        wider = replace(self, weights=weights)
        return wider if self.fixed_pool else replace(wider, pool=wider.free)

    @property
    def spills(self) -> bool:
        """KV that does not fit goes to host memory, so that the pool is no limit."""
        return self.plans[1].charges.spills_kv > 0.0

    @property
    def free(self) -> Interval:
        """What is left beside weights and overheads (and a pool of fixed size); negative where they do not fit."""
        taken = self.weights.plus(self.overheads)
        if self.fixed_pool:
            taken = taken.plus(self.pool)
        budget = self.budget
        return Interval(budget.low - taken.high, budget.best - taken.best, budget.high - taken.low)

    def kv_bytes(self, tokens: float, users: float = 1.0) -> Interval:
        """KV of so many users with such a context, on the fullest GPU."""
        return Interval(*(self._kv(plan, tokens, sequences_per_replica(plan, users)) for plan in self.plans))

    def request_bytes(self, tokens: float) -> Interval:
        """KV of one request of so many tokens; where slots are reserved, of every slot."""
        return Interval(*(self._kv(plan, tokens, float(self.sequences)) for plan in self.plans))

    def pool_tokens(self) -> int | None:
        """Tokens that the pool holds at the best estimate; None for a cache that does not grow."""
        token_bytes = growing_bytes_per_token(self.plans[1].kv) * self.plans[1].charges.resident_fraction
        return int(max(self.pool.best, 0.0) // token_bytes) if token_bytes else None

    def longest(self) -> Interval:
        """Tokens of the longest single request, whole blocks: at the pessimistic, the best and the optimistic end."""
        return Interval(*(float(self._longest(end)) for end in (2, 1, 0)))

    def most_users(self, tokens: float) -> Interval:
        """Users with such a context that fit in the pool, at the same three ends."""
        return Interval(*(float(self._users(end, tokens)) for end in (2, 1, 0)))

    def _kv(self, plan: Plan, tokens: float, sequences: float) -> float:
        return self.kv_fraction * resident_kv_bytes(plan, tokens, sequences)

    def _longest(self, end: int) -> int:
        plan, pool, sequences = self.plans[end], self.pool[2 - end], float(self.sequences)
        block = max(int(plan.kv[0].block_tokens), 1)
        return block * _most(lambda blocks: self._kv(plan, blocks * block, sequences) <= pool, MOST_TOKENS // block)

    def _users(self, end: int, tokens: float) -> int:
        plan, pool = self.plans[end], self.pool[2 - end]
        return _most(
            lambda users: self._kv(plan, tokens, sequences_per_replica(plan, float(users))) <= pool, MOST_USERS
        )


def share_of(frame: Frame, strategy: Strategy, *, offloaded_bytes: float, pool_bytes: float | None) -> GpuShare:
    """The share-out under a strategy. ``offloaded_bytes`` of weights are in host memory, for each GPU."""
    plans = plan_ends(frame, strategy)
    low, best, high = plans
    weights = Interval(*(max(plan.model.weight_bytes - offloaded_bytes, 0.0) for plan in plans))
    overheads = Interval(overhead_bytes(low), overhead_bytes(best), overhead_bytes(high))
    if pool_bytes is not None:
        gpu = frame.deployment.host.gpu
        total = gpu.hbm_bytes if gpu else Interval.exact(0.0)
        return GpuShare(plans, total, weights, overheads, Interval.exact(pool_bytes), fixed_pool=True)
    budget = Interval(high.limits.hbm_bytes, best.limits.hbm_bytes, low.limits.hbm_bytes)
    free = GpuShare(plans, budget, weights, overheads, Interval.exact(0.0)).free
    return GpuShare(plans, budget, weights, overheads, free)


def _most(fits: Callable[[int], bool], ceiling: int) -> int:
    """The largest count that fits, by bisection; 0 where not even one does."""
    if not fits(1):
        return 0
    low, high = 1, ceiling
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
