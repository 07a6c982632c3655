"""gpt-oss: every other layer slides over 128 tokens, the first one too; attention sinks; experts with biases."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, norm

MODEL_TYPES = ("gpt_oss",)


def read(config: Config) -> Architecture:
    """Beside the matrices of a layer: one sink a head, a router bias of E, and 2·I + D biases for each expert."""
    config = config.with_defaults(sliding_window=128, head_dim=64, num_key_value_heads=8)
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    moe = read_moe(config, dims.layers, inner=inner)
    bias = config.flag("attention_bias", default=True)
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + Parts(other=dims.heads) + norm(dims.hidden, norms=2)
    layer += moe.parts(dims.hidden, correction=True) + Parts(other=moe.experts * (2 * inner + dims.hidden))
    slides = kv_layers.slides_by_type(config, dims.layers) or tuple(i % 2 == 0 for i in range(dims.layers))
    kv = kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, experts=moe.record)
