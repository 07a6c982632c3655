"""Phi-3.5-MoE: LayerNorms with biases, biases on attention and on the head."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, norm

MODEL_TYPES = ("phimoe",)


def read(config: Config) -> Architecture:
    """The window that its file states is as long as its context: none."""
    dims = read_dims(config.with_defaults(num_key_value_heads=8))
    moe = read_moe(config, dims.layers, inner=config.count("intermediate_size"))
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2, bias=True)
    layer += moe.parts(dims.hidden)
    ends = norm(dims.hidden, bias=True) + Parts(other=dims.vocab if config.flag("lm_head_bias") else 0)
    window = kv_layers.window(config, dims.max_context)
    kv = kv_layers.windowed((True,) * dims.layers, window, dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, final_norm=ends, experts=moe.record)
