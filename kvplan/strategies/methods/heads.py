"""Heads of the layers whose cache grows: what methods that choose head by head cost depends on them."""

from __future__ import annotations

from kvplan.domain.model import KvLayers, Model
from kvplan.strategies.interface import Situation


def growing_heads(model: Model) -> KvLayers:
    """The layers that keep most of a long sequence's KV; the first ones for a model whose cache does not grow."""
    growing = [layers for layers in model.kv if layers.grows and not layers.index_bytes] or list(model.kv)
    return max(growing, key=lambda layers: layers.layers * layers.elements_per_token)


def heads_on_gpu(situation: Situation) -> float:
    """KV heads of one layer on one GPU."""
    return max(1.0, growing_heads(situation.deployment.model).kv_heads / situation.deployment.layout.tp)


def queries_per_head(model: Model) -> float:
    """Query heads that share a KV head: each of them reads its own chosen keys."""
    return max(1.0, model.attention_heads / max(growing_heads(model).kv_heads, 1))


def vector_elements(model: Model) -> float:
    """Mean width of a key and a value vector."""
    layers = growing_heads(model)
    return max(1.0, (layers.key_elements + layers.value_elements) / 2.0)
