"""Mixtral, and mixtures that store the same: OLMoE (with norms over all query and key heads) and Granite MoE."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, norm

MODEL_TYPES = ("mixtral", "olmoe", "granitemoe")


def read(config: Config) -> Architecture:
    model_type = config.word("model_type")
    dims = read_dims(config.with_defaults(num_key_value_heads=8) if model_type == "mixtral" else config)
    moe = read_moe(config, dims.layers, inner=config.count("intermediate_size"))
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2) + moe.parts(dims.hidden)
    layer += norm((dims.heads + dims.kv_heads) * dims.head) if model_type == "olmoe" else Parts()
    window = kv_layers.window(config, dims.max_context)
    kv = kv_layers.windowed((True,) * dims.layers, window, dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, experts=moe.record)
