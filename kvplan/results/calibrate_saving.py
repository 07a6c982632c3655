"""``kvplan calibrate --save``: which of a log's figures are kept, and why some starts are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvplan.assess.calibrated import model_word
from kvplan.catalog.calibration_saving import save_calibration
from kvplan.domain.calibration import Calibration
from kvplan.domain.deployment import Deployment
from kvplan.engines.versions import release
from kvplan.engines.vllm_terms import NEW_BUDGET_SINCE
from kvplan.errors import InputError
from kvplan.results.logged_start import log_source

if TYPE_CHECKING:
    from kvplan.results.calibrate import CalibrateResult, CalibrateWords

_KEPT = {
    "vllm": {"total": "total_bytes", "weights": "weight_bytes", "activation": "activation_bytes",
             "runtime": "runtime_bytes", "graphs": "graph_estimate_bytes"},
    "sglang": {"weights": "weight_bytes", "budget": "budget_bytes"},
    "llama.cpp": {"total": "total_bytes", "weights": "weight_bytes", "activation": "activation_bytes",
                  "runtime": "runtime_bytes"},
    "tensorrt-llm": {"total": "total_bytes", "weights": "weight_bytes", "activation": "activation_bytes",
                     "runtime": "runtime_bytes"},
}  # fmt: skip
"""Engine -> term of domain.calibration -> figure of the log."""


def saved(asked: CalibrateWords, answer: CalibrateResult) -> CalibrateResult:
    """Write the calibration; InputError where the log can't stand for the host."""
    deployment = answer.deployment
    assert deployment is not None and asked.save is not None
    _refuse(answer, deployment)
    terms = kept_terms(answer)
    if not terms:
        raise InputError("the log prints nothing that could be kept: neither weights nor the parts beside them")
    settings, workload = deployment.settings, deployment.workload
    calibration = Calibration(
        name=asked.save,
        host=deployment.host.name,
        engine=deployment.engine,
        model=model_word(deployment),
        weights=settings.weights or deployment.model.dtype,
        layout=deployment.layout,
        settings=settings,
        users=workload.users,
        context_tokens=workload.context_tokens,
        observed=terms,
        source=asked.source or log_source(asked.logs),
    )
    catalog = asked.words.catalog[-1] if asked.words.catalog else None
    added = save_calibration(calibration, catalog, replace=asked.replace)
    from dataclasses import replace

    return replace(answer, saved=added, terms=terms)


def _refuse(answer: CalibrateResult, deployment: Deployment) -> None:
    if not answer.start.complete:
        raise InputError("the log ends before the KV cache was set up: nothing is kept of it")
    wrong = next((note for note in answer.notes if note.endswith("not the same card")), None)
    if wrong is not None:
        raise InputError(wrong, help="name the host that the log is from, or give --hbm-gib")
    if deployment.settings.drafting is not None or deployment.settings.cpu_offload_bytes:
        raise InputError("starts with a draft model or with weights in host memory are not kept")


def kept_terms(answer: CalibrateResult) -> dict[str, float]:
    """What of the log depends on nothing that the row does not say. The parts that are not printed, as their sum."""
    start, deployment = answer.start, answer.deployment
    assert deployment is not None
    figures = start.tightest.figures
    terms = {term: figures[figure] for term, figure in _KEPT[start.engine].items() if figures.get(figure, -1.0) >= 0.0}
    if start.engine == "vllm":
        _settle_graphs(terms, deployment)
        rest = _rest(answer, terms)
        if rest is not None:
            terms["rest"] = rest
    pool = figures.get("kv_pool_bytes")
    if start.engine == "tensorrt-llm" and pool is not None and {"weights", "activation", "runtime"} <= terms.keys():
        terms["budget"] = pool + terms["weights"] + terms["activation"] + terms["runtime"]
    return terms


def _settle_graphs(terms: dict[str, float], deployment: Deployment) -> None:
    """Before 0.20 graphs were not charged; since 0.28 the activation contains them unless both are printed."""
    version = release(deployment.engine.version)
    if version < NEW_BUDGET_SINCE:
        terms.pop("graphs", None)
    elif version >= (0, 28) and "activation" in terms:
        terms.setdefault("graphs", 0.0)


def _rest(answer: CalibrateResult, terms: dict[str, float]) -> float | None:
    """Budget less weights less pool, where activation or runtime is not printed."""
    budget, pool = answer.figure("budget_bytes"), answer.figure("kv_pool_bytes")
    if {"activation", "runtime"} <= terms.keys() or "weights" not in terms or budget is None or pool is None:
        return None
    total = budget.observed if budget.observed is not None else budget.predicted.best if budget.predicted else None
    if total is None or pool.observed is None:
        return None
    rest = total - terms["weights"] - pool.observed
    return rest if rest > 0.0 else None
