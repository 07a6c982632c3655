"""Qwen 2 and 2.5: biases on queries, keys and values."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("qwen2", "qwen2_vl_text", "qwen2_5_vl_text")


def read(config: Config) -> Architecture:
    dims = read_dims(config.with_defaults(num_key_value_heads=32))
    inner = config.count("intermediate_size")
    layer = attention(dims.sides, qkv_bias=True) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    kv = kv_layers.switched_window(config, dims.full_kv[0], dims.max_context)
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
