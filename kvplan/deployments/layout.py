"""How a model's heads and layers divide over GPUs."""

from __future__ import annotations

from kvplan.domain.deployment import Layout
from kvplan.domain.model import Model


def natural_layout(model: Model, gpus: int, *, by_layers: bool = False) -> Layout:
    """Tensor parallel over the most GPUs that the heads allow, data parallel over the rest.

    Allowed: a divisor of the GPUs that divides the attention heads, and divides or is divided by the KV heads.
    ``by_layers``: for engines that give each GPU some of the layers instead, as pipeline stages.
    """
    if by_layers:
        return Layout(pp=max(1, min(gpus, model.layers)))
    allowed = [tp for tp in range(1, gpus + 1) if gpus % tp == 0 and heads_divide(model, tp)]
    tp = max(allowed, default=1)
    return Layout(tp=tp, dp=max(1, gpus // tp))


def heads_divide(model: Model, tp: int) -> bool:
    """Whether an engine can split this model's heads over ``tp`` ranks."""
    if model.attention_heads % tp:
        return False
    split = (item.kv_heads for item in model.kv if item.kv_heads and not item.replicated)
    return all(heads % tp == 0 or tp % heads == 0 for heads in split)
