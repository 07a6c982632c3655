"""Where a start-up log of this host was kept, what it showed takes the place of what kvplan estimates.

The same model in the same layout takes every term whose prediction is the one of that start: a batch of another size
has another activation, which the log does not show. Another model takes what depends on the host and the engine alone:
the device's total, and with the same number of ranks its non-torch memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvplan.domain.calibration import Calibration
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.engines.interface import MemoryPolicy, Term
from kvplan.engines.versions import release
from kvplan.units import gib, to_gib

SPREAD_BYTES = gib(0.03)
"""What two starts of the same deployment differ by; source: the sum of printed terms closes within it on 145 of 153."""
_RUNTIME_SPREAD = Interval(gib(-0.05), 0.0, gib(0.2))
"""Between models; source: vLLM 0.18 and 0.19 on H100, 0.24 to 0.27 GiB, one family 0.46."""
SAID = "calibrated: "
"""What the warning begins with that says so."""
_REPLACED = ("budget", "activation", "runtime", "graphs")


class Use(NamedTuple):
    """The calibration that a deployment takes, and how far."""

    calibration: Calibration
    same_model: bool

    @property
    def source(self) -> str:
        """For people who ask where a figure comes from."""
        return f"calibration {self.calibration.name}: {self.calibration.source}"


def use_of(deployment: Deployment) -> Use | None:
    """The calibration of the same host, engine and ranks: of the same model before others, later ones before earlier.

    None where there is none, and where weights lie in host memory or a second model drafts, which no row keeps.
    """
    settings = deployment.settings
    if not deployment.calibrations or settings.drafting is not None or settings.cpu_offload_bytes:
        return None
    near = (one for one in deployment.calibrations if _same_start(one, deployment))
    fitting = [Use(one, _same_model(one, deployment)) for one in near]
    return max(enumerate(fitting), key=lambda item: (item[1].same_model, item[0]))[1] if fitting else None


def _same_start(one: Calibration, deployment: Deployment) -> bool:
    engine = deployment.engine
    same = (one.host, one.engine.name, one.layout.tp) == (deployment.host.name, engine.name, deployment.layout.tp)
    return same and _line(one.engine.version) == _line(engine.version)


def _line(version: str) -> tuple[int, ...]:
    """``0.19.1`` -> (0, 19). Builds of llama.cpp are one line."""
    return () if version.startswith("b") else release(version)[:2]


def _same_model(one: Calibration, deployment: Deployment) -> bool:
    weights = deployment.settings.weights or deployment.model.dtype
    layout = deployment.layout if deployment.layout.ep > 1 else deployment.layout._replace(dp=one.layout.dp)
    return (one.model, one.weights, one.layout) == (model_word(deployment), weights, layout)


def model_word(deployment: Deployment) -> str:
    """What a calibration calls the model."""
    return deployment.model.catalog_name or deployment.model.name


def with_measured_total(deployment: Deployment) -> Deployment:
    """The deployment on a device with the total that the engine was shown."""
    use, gpu = use_of(deployment), deployment.host.gpu
    total = use.calibration.observed.get("total") if use else None
    if total is None or gpu is None or deployment.host.unified_memory:
        return deployment
    return deployment._replace(host=deployment.host._replace(gpu=gpu._replace(hbm_bytes=Interval.exact(total))))


def measured_weights(deployment: Deployment) -> Interval | None:
    """Weights on one GPU as the engine printed them; None where no log of this model was kept."""
    use = use_of(deployment)
    observed = use.calibration.observed.get("weights") if use and use.same_model else None
    return None if observed is None else Interval(observed - gib(0.01), observed, observed + gib(0.01))


def measured_weight_words(deployment: Deployment) -> tuple[str, str] | None:
    """(formula, source) of weights that were measured; None where they were not."""
    use = use_of(deployment)
    return None if use is None or measured_weights(deployment) is None else ("weights as measured", use.source)


def calibration_used(deployment: Deployment, policy: MemoryPolicy) -> str | None:
    """Name of the calibration that the policy or the weights took something from."""
    use = use_of(deployment)
    return use.calibration.name if use and any(text.startswith(SAID) for text in policy.warnings) else None


def with_measured_terms(
    deployment: Deployment, policy: MemoryPolicy, predict: Callable[[Deployment], MemoryPolicy]
) -> MemoryPolicy:
    """The policy with what was measured in its place, and a warning that says so."""
    use = use_of(deployment)
    if use is None:
        return policy
    terms = _of_the_same_model(use, deployment, policy, predict) if use.same_model else _of_any_model(use)
    said = _said(use, terms)
    return policy._replace(
        budget=terms.get("budget", policy.budget),
        activation=terms.get("activation", policy.activation),
        runtime=terms.get("runtime", policy.runtime),
        graphs=terms.get("graphs", policy.graphs),
        warnings=(*policy.warnings, said) if said else policy.warnings,
    )


def _of_the_same_model(
    use: Use, deployment: Deployment, policy: MemoryPolicy, predict: Callable[[Deployment], MemoryPolicy]
) -> dict[str, Term]:
    """The terms that are predicted as for the start that was measured."""
    then = predict(_as_measured(deployment, use.calibration))
    observed = use.calibration.observed
    same = {name for name in _REPLACED if getattr(policy, name).bytes == getattr(then, name).bytes}
    terms = {name: _around(observed[name], use) for name in _REPLACED if name in same and name in observed}
    rest = observed.get("rest")
    if rest is not None and {"activation", "runtime", "graphs"} <= same:
        others = {name: _around(getattr(policy, name).bytes.best, use) for name in ("runtime", "graphs")}
        left = rest - sum(term.bytes.best for term in others.values())
        return {**terms, **others, "activation": _around(left, use)} if left > 0.0 else terms
    return terms


def _of_any_model(use: Use) -> dict[str, Term]:
    runtime = use.calibration.observed.get("runtime")
    if runtime is None:
        return {}
    span = Interval(*(max(runtime + end, 0.0) for end in _RUNTIME_SPREAD))
    return {"runtime": Term(span, "non-torch memory as measured with another model", use.source)}


def _as_measured(deployment: Deployment, one: Calibration) -> Deployment:
    workload = deployment.workload._replace(users=one.users, context_tokens=one.context_tokens)
    kept = one.settings._replace(weights=deployment.settings.weights)
    return deployment._replace(settings=kept, workload=workload)


def _around(value: float, use: Use) -> Term:
    return Term(Interval(max(value - SPREAD_BYTES, 0.0), value, value + SPREAD_BYTES), "as measured", use.source)


def _said(use: Use, terms: dict[str, Term]) -> str:
    """``calibrated: weights 14.99 GiB, runtime 0.25 GiB by my-run (vllm.log, 2026-04-22)``."""
    one = use.calibration
    shown = {name: term.bytes.best for name, term in terms.items()}
    shown = {**({"total": one.observed["total"]} if "total" in one.observed else {}), **shown}
    if use.same_model and "weights" in one.observed:
        shown["weights"] = one.observed["weights"]
    words = ", ".join(f"{name} {to_gib(shown[name]):.2f}" for name in ("total", "weights", *_REPLACED) if name in shown)
    return f"{SAID}{words} GiB a GPU by {one.name} ({one.source})" if words else ""
