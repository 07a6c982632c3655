"""From all strategies to one answer, and the sentence that says it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kvplan.core.verdicts import FULL
from kvplan.domain.assessment import Assessment, StrategyAssessment, Verdict
from kvplan.domain.deployment import Deployment
from kvplan.domain.task import TASKS
from kvplan.units import to_gib, to_ms

_OUTCOME_RANK = {"fits": 0, "tight": 1, "unlikely": 2, "no": 3, "unknown": 4, "na": 5}
UNPUBLISHED_LOSS = 50.0
_PLAINNESS = {"hbm": 0, "kv-fp8": 1, "kv-q8_0": 1, "kv-int8": 1}
_NAMES = {
    "hbm": "HBM",
    "dram_capacity": "DRAM",
    "dram_bandwidth": "DRAM bandwidth",
    "link": "the CPU-GPU link",
    "cpu_cores": "CPU cores",
    "itl": "the time per token",
    "ttft": "the time to first token",
    "kernel": "a missing kernel",
    "context": "the model's own context limit",
    "topology": "the layout of GPUs",
    "unified": "unified memory",
}


def budget_words(name: str | None) -> str:
    """A budget's id in words."""
    return _NAMES.get(name or "", name or "")


def typical_loss(low: float | None, high: float | None) -> float:
    """The middle of a published span of accuracy loss, in points; what nobody has published ranks last."""
    return UNPUBLISHED_LOSS if low is None or high is None else (low + high) / 2


def rank(item: StrategyAssessment) -> tuple[float, ...]:
    """Best first: fits before tight, least accuracy loss, least time per token. Unknown loss: fewer bits lose more."""
    loss = typical_loss(item.accuracy.low, item.accuracy.high)
    if item.accuracy.high is None:
        loss -= (item.kv_bytes_per_token or 0.0) * 1e-9
    step_s = item.itl_s.best if item.itl_s else math.inf
    return (_OUTCOME_RANK[item.outcome], loss, step_s)


def best_first(items: Iterable[StrategyAssessment]) -> list[StrategyAssessment]:
    """Strategies in the order of the verdict; the id decides what is otherwise equal."""
    return sorted(items, key=lambda item: (*rank(item), item.id))


def closest(items: Iterable[StrategyAssessment]) -> StrategyAssessment | None:
    """The strategy that misses by least: by outcome, then by how far its optimistic end is over."""
    judged = [item for item in items if item.outcome in ("unlikely", "no") and item.budgets]
    judged = judged or [item for item in items if item.outcome in ("unlikely", "no")]
    return min(judged, key=_distance, default=None)


def _distance(item: StrategyAssessment) -> tuple[float, int, bool, int, str]:
    """By outcome, then by how far over, in steps of a twentieth; of what is nearly equal the simpler one."""
    steps = round(20.0 * math.log(max(item.overload, 1e-9)))
    return (_OUTCOME_RANK[item.outcome], steps, item.kv_bytes_per_token is None, _PLAINNESS.get(item.id, 9), item.id)


def decide(deployment: Deployment, items: tuple[StrategyAssessment, ...]) -> Verdict:
    """The verdict: the best strategy that works; else what binds the closest one."""
    best = best_first(items)[0]
    if best.works:
        return Verdict(best.outcome, best.id, None, _works(deployment, best))
    near = closest(items)
    unknown = next((item for item in items if item.outcome == "unknown"), None)
    if unknown is not None and (near is None or not near.budgets):
        return Verdict("unknown", None, unknown.bound_by, f"CANNOT JUDGE: {unknown.reason}.")
    if near is None:
        return Verdict("na", None, best.bound_by, f"CANNOT JUDGE: {best.reason}.")
    return Verdict(near.outcome, None, near.bound_by, _misses(deployment, near, items))


def itl_words(item: StrategyAssessment) -> str:
    """``16 ms a token (13..24)``."""
    if item.itl_s is None:
        return "an unknown time per token"
    low, best, high = (_short(to_ms(value)) for value in item.itl_s)
    span = "" if item.itl_s.is_exact else f" ({low}..{high})"
    return f"{best} ms a token{span}"


def _short(value: float) -> str:
    """Three digits, and whole numbers with separators from a thousand on."""
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"


def users_words(users: int) -> str:
    return f"{users:,} user" + ("" if users == 1 else "s")


def _works(deployment: Deployment, best: StrategyAssessment) -> str:
    word = "FITS" if best.outcome == "fits" else "TIGHT"
    prototype = ", a prototype that no stock engine has" if best.flags is None and best.method else ""
    text = f"{word} with {best.id}{prototype}: {users_words(deployment.workload.users)} at {itl_words(best)}"
    if best.accuracy.high is None:
        of_task = f" for {TASKS[best.accuracy.task]}" if best.accuracy.task else ""
        text += f", if an accuracy loss that nobody has published{of_task} is acceptable"
    elif best.accuracy.high > 0.0 and not best.reason:
        low, high = f"{best.accuracy.low:g}", f"{best.accuracy.high:g}"
        span = f"{high if low == high else f'{low} to {high}'} points on {best.accuracy.on}"
        text += f", if the published accuracy loss of {span} is acceptable"
    if best.longest_request is not None:
        text += f"; the longest request, {deployment.workload.context_tokens:,} tokens, has room too"
    if best.outcome == "tight" and best.reason:
        text += f"; {best.reason}"
    elif best.outcome == "tight":
        text += "; not at the pessimistic end, or with less than the margin left"
    return text + "."


def _misses(deployment: Deployment, near: StrategyAssessment, items: tuple[StrategyAssessment, ...]) -> str:
    word = "NO" if near.outcome == "no" else "UNLIKELY"
    weights = weights_sentence(deployment, items)
    if weights:
        return f"{word}: {weights}{_offload_price(items)}."
    if near.reason:
        return f"{word}: {near.reason}."
    return f"{word}: {near.id} comes closest and is bound by {budget_words(near.bound_by)}{_excess(deployment, near)}."


def _excess(deployment: Deployment, near: StrategyAssessment) -> str:
    """`` (1.12 x what there is)``, or the time against its objective."""
    budget = near.budgets.get(near.bound_by or "")
    if budget is not None and budget.used and budget.limit:
        return f" ({budget.used.best / budget.limit:.2f} x what there is)"
    if near.bound_by == "itl" and near.itl_s is not None:
        return f" ({itl_words(near)}, objective {to_ms(deployment.objectives.itl_s):g} ms)"
    if near.bound_by == "ttft" and near.ttft_s and deployment.objectives.ttft_s:
        return f" ({near.ttft_s.best:.3g} s, objective {deployment.objectives.ttft_s:g} s)"
    return ""


def places_all(item: StrategyAssessment) -> bool:
    """Whether all bytes find a place at the best estimate, whatever the pace."""
    return all(item.budgets[name].load <= FULL for name in ("hbm", "dram_capacity") if name in item.budgets)


def _offload_price(items: Iterable[StrategyAssessment]) -> str:
    """What weights or experts in host memory would run at, where their bytes find a place: the faster of the two."""
    rates = [
        (1.0 / item.itl_s.best, item.id)
        for item in items
        if item.id in ("weight-offload", "expert-offload") and item.itl_s is not None and places_all(item)
    ]
    if not rates:
        return ""
    rate, name = max(rates)
    return f"; {name} holds them at {rate:.2g} tokens/s a user"


def weights_sentence(deployment: Deployment, items: Iterable[StrategyAssessment]) -> str:
    """Said first where weights alone do not fit: no KV strategy can help then."""
    for item in items:
        budget = item.budgets.get("hbm")
        if budget is None:
            continue
        weights = sum(part.value for part in budget.parts if part.name == "weights")
        if budget.limit is not None and weights > budget.limit:
            scheme = deployment.settings.weights or deployment.model.dtype
            stored = f"{to_gib(weights):,.1f} GiB of {scheme} weights"
            each = " on each GPU" if deployment.layout.gpus > 1 else ""
            pool = "memory that the GPU may use" if deployment.host.unified_memory else "HBM"
            return f"the weights alone do not fit: {stored} into {to_gib(budget.limit):,.1f} GiB of {pool}{each}"
    return ""


def weights_fit(assessment: Assessment) -> bool:
    """Whether the weights alone fit in HBM."""
    return not weights_sentence(assessment.deployment, assessment.strategies)
