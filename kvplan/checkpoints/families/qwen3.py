"""Qwen 3: norms on the heads of queries and keys instead of biases; head_dim is 128 whatever the hidden width is."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("qwen3", "qwen3_vl_text")


def read(config: Config) -> Architecture:
    dims = read_dims(config.with_defaults(num_key_value_heads=32, head_dim=128))
    inner = config.count("intermediate_size")
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.head, norms=2)
    layer += gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    kv = kv_layers.switched_window(config, dims.full_kv[0], dims.max_context)
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
