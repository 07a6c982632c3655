"""Caches that a strategy or an engine can do nothing with, or that nobody has settled how an engine lays out."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.strategies.interface import Excuse

_OF_KV = ("kv-", "offload-")
"""Strategies that change or move KV, by the start of their ids."""


def unknown_layout(deployment: Deployment) -> Excuse | None:
    """An engine whose pages for this model are not modelled: an answer by the architecture alone would mislead."""
    engine, model = deployment.engine.name, deployment.model
    if engine == "generic" or not any(layers.kind == "compressed" for layers in model.kv):
        return None
    text = f"how {engine} lays out the compressed caches of {model.name} is not modelled"
    return Excuse("unknown", "kernel", f"{text}; kvplan kv shows the model's own")


def nothing_to_move(deployment: Deployment, strategy_id: str) -> Excuse | None:
    """A model that keeps states and no KV has nothing to quantize and nothing to move."""
    keeps_kv = any(layers.state is None and layers.kv_heads for layers in deployment.model.kv)
    if keeps_kv or not strategy_id.startswith(_OF_KV):
        return None
    return Excuse("na", "kernel", f"{deployment.model.name} keeps states and no KV: nothing to quantize or to move")
