"""Sequences of many lengths: the expected load sizes the pool, and the longest single request must fit by itself."""

from __future__ import annotations

from kvplan.core.accounts import Loads
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import TIGHT, loads, outcome
from kvplan.domain.assessment import OUTCOMES, RequestAlone
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.engines.interface import MemoryPolicy
from kvplan.units import to_gib

Ends = tuple[Plan, Plan, Plan]


def tokens_at_load(deployment: Deployment, policy: MemoryPolicy) -> Interval:
    """Mean tokens of a sequence on the fullest replica. A cache that is not paged holds whole contexts."""
    workload = deployment.workload
    if not policy.paged:
        return Interval.exact(float(workload.context_tokens))
    return workload.tokens_per_sequence(float(-(-workload.users // deployment.layout.dp)))


def request_alone(deployment: Deployment, ends: Ends) -> RequestAlone | None:
    """The longest request with the replica to itself, by its memory alone; None where all are equally long."""
    workload = deployment.workload
    if workload.lengths is None:
        return None
    longest = float(workload.context_tokens)
    low, best, high = (_memory(loads(_without_sessions(end), longest, 1.0)) for end in ends)
    code = outcome(low, best, high, deployment.objectives.margin_fraction)
    used = Interval(low.hbm, best.hbm, max(best.hbm, high.hbm)).scaled(ends[1].limits.hbm_bytes)
    deciding = low if OUTCOMES[code] == "no" else best
    bound = None if code <= TIGHT else "dram_capacity" if deciding.dram_capacity > deciding.hbm else "hbm"
    return RequestAlone(OUTCOMES[code], used, bound)


def _without_sessions(plan: Plan) -> Plan:
    """The same without idle sessions, which are not as long as the longest request."""
    return plan._replace(traffic=plan.traffic._replace(idle_sessions=0.0))


def why_not_alone(deployment: Deployment, alone: RequestAlone, limit_bytes: float) -> str:
    """Why the longest request does not fit."""
    longest = f"the longest request, {deployment.workload.context_tokens:,} tokens,"
    if alone.bound_by == "dram_capacity":
        return f"{longest} has no room in host memory by itself"
    need = f"{to_gib(alone.hbm_bytes.best):,.1f} GiB of {to_gib(limit_bytes):,.1f} GiB of HBM"
    return f"{longest} needs {need} by itself"


def worse(one: int, other: RequestAlone | None) -> bool:
    """Whether the longest request decides: its outcome is worse than that of the whole load."""
    return other is not None and OUTCOMES.index(other.outcome) > one


def _memory(load: Loads) -> Loads:
    return load._replace(dram_bandwidth=0.0, link=0.0, cpu_cores=0.0, itl=0.0, ttft=0.0)
