"""Mistral: Llama with a sliding window over all layers in version 0.1, none later (``sliding_window`` null)."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("mistral", "ministral3")


def read(config: Config) -> Architecture:
    dims = read_dims(config.with_defaults(num_key_value_heads=8))
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    slides = kv_layers.slides_by_type(config, dims.layers) or (True,) * dims.layers
    kv = kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
