"""Nemotron 4 and Minitron: LayerNorms with biases, plain MLP with a squared ReLU."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, norm, plain_mlp

MODEL_TYPES = ("nemotron",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2, bias=True)
    layer += plain_mlp(dims.hidden, inner, bias=config.flag("mlp_bias"))
    final = norm(dims.hidden, bias=True)
    return decoder(dims, layer.times(dims.layers), final_norm=final, intermediate_size=inner)
