"""The KV pool that an engine will have on a host, before launch, and what it will count in it."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.assess import build_frame, gpu_memory
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import GpuMemory
from kvplan.domain.deployment import Deployment
from kvplan.domain.model import Model
from kvplan.errors import CannotJudge
from kvplan.results import kv_layouts
from kvplan.results.kv_pool import KvPool


class Prediction(NamedTuple):
    """How one GPU is split, and the pool in the engine's own count."""

    split: GpuMemory
    pool: KvPool | None
    """At the best estimate; None where nothing is left for KV, or the engine has no pool."""
    fewest_tokens: int | None
    most_tokens: int | None
    warnings: tuple[str, ...]


def predict(model: Model, words: Words, deployment: Deployment) -> Prediction:
    """The same deployment on as many GPUs of the named host as its layout takes."""
    layout, context = deployment.layout, deployment.workload.context_tokens
    frame = build_frame(resolve(words._replace(gpus=layout.gpus, context=words.context or context)))
    policy, split = frame.situation.policy, gpu_memory(frame)
    whole = split.kv_pool_bytes.scaled(1.0 / (1.0 - policy.state_pool_fraction))
    low, best, high = (_pool(model, words, pool_bytes) for pool_bytes in whole)
    tokens = best.tokens if best else None
    return Prediction(
        split._replace(kv_pool_tokens=tokens), best, low.tokens if low else 0, high.tokens if high else None,
        policy.warnings,
    )  # fmt: skip


def _pool(model: Model, words: Words, pool_bytes: float) -> KvPool | None:
    if pool_bytes < 1.0:
        return None
    try:
        count = kv_layouts.laid_out(model, words, int(pool_bytes))[1].pool
    except CannotJudge:  # not one block, or an engine that has no pool
        return None
    return None if count is None else KvPool(int(pool_bytes), *count)
