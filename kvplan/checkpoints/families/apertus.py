"""Apertus: plain MLP with two learned scalars of its activation a layer, norms on query and key heads."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, norm, plain_mlp

MODEL_TYPES = ("apertus",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2)
    layer += plain_mlp(dims.hidden, inner, bias=config.flag("mlp_bias")) + Parts(other=2)
    layer += norm(dims.head, norms=2) if config.flag("qk_norm", default=True) else Parts()
    return decoder(dims, layer.times(dims.layers), intermediate_size=inner)
