"""Deployments with one thing changed."""

from __future__ import annotations

from kvplan.deployments.layout import natural_layout
from kvplan.domain.deployment import Deployment, EngineChoice, Layout
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.engines import choose_engine, find_engine, natural_engine

_WORTH_IT = 0.9


def lighter_schemes(deployment: Deployment) -> list[str]:
    """Weight types that this engine reads and that save at least a tenth of the bytes, the most precise first."""
    names = find_engine(deployment.engine.name).lighter_weights
    most = _WORTH_IT * deployment.stored_weight_bytes
    return [name for name in names if with_weights(deployment, name).stored_weight_bytes < most]


def engine_layout(model: Model, gpus: int, engine: EngineChoice) -> Layout:
    return natural_layout(model, gpus, by_layers=find_engine(engine.name).splits_layers)


def engine_there(deployment: Deployment, host: Host) -> EngineChoice | None:
    """The engine on another host: itself, or that host's own where it was this one's; None where it does not run."""
    now, engine = deployment.host, deployment.engine
    if natural_engine(host) == "generic":  # an accelerator whose own engine is not modelled: no advice to buy it
        return None
    same_vendor = now.gpu is not None and host.gpu is not None and now.gpu.vendor == host.gpu.vendor
    if not same_vendor and engine.name == natural_engine(now):
        return choose_engine(None, host)
    return engine if host.gpu is not None and find_engine(engine.name).runs_on(host.gpu) else None


def with_weights(deployment: Deployment, scheme: str) -> Deployment:
    return deployment._replace(settings=deployment.settings._replace(weights=scheme))


def with_workload(deployment: Deployment, *, users: int | None = None, context_tokens: int | None = None) -> Deployment:
    workload = deployment.workload
    context = context_tokens or workload.context_tokens
    prompt = max(1, min(workload.prompt_tokens, context - (workload.output_tokens or 0)))
    changed = workload._replace(users=users or workload.users, context_tokens=context, prompt_tokens=prompt)
    return deployment._replace(workload=changed._replace(lengths=None) if context_tokens else changed)
