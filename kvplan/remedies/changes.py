"""Deployments with one thing changed."""

from __future__ import annotations

from kvplan.deployments.layout import natural_layout
from kvplan.domain.deployment import Deployment, EngineChoice, Layout
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.engines import find_engine

_SERVED_SCHEMES = ("fp8", "awq-int4")
_GGUF_SCHEMES = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m")


def lighter_schemes(deployment: Deployment) -> list[str]:
    """Weight types with fewer bits than now that this engine reads, the most precise first."""
    now = deployment.weight_scheme
    names = _GGUF_SCHEMES if deployment.engine.name == "llama.cpp" else _SERVED_SCHEMES
    return [name for name in names if SCHEMES[name].linear_bits < now.linear_bits]


def engine_layout(model: Model, gpus: int, engine: EngineChoice) -> Layout:
    return natural_layout(model, gpus, by_layers=find_engine(engine.name).splits_layers)


def same_vendor(one: Host, other: Host) -> bool:
    """Whether what runs on the one runs on the other."""
    return one.gpu is not None and other.gpu is not None and one.gpu.vendor == other.gpu.vendor


def with_weights(deployment: Deployment, scheme: str) -> Deployment:
    return deployment._replace(settings=deployment.settings._replace(weights=scheme))


def with_workload(deployment: Deployment, *, users: int | None = None, context_tokens: int | None = None) -> Deployment:
    workload = deployment.workload
    context = context_tokens or workload.context_tokens
    prompt = max(1, min(workload.prompt_tokens, context - (workload.output_tokens or 0)))
    changed = workload._replace(users=users or workload.users, context_tokens=context, prompt_tokens=prompt)
    return deployment._replace(workload=changed._replace(lengths=None) if context_tokens else changed)
