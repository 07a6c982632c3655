"""Llama and the decoders that store the same: full attention, gated MLP, two RMSNorms a layer."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("llama", "granite", "smollm3", "internlm2", "internlm3", "baichuan", "exaone", "seed_oss", "ernie4_5")
_TIED = ("smollm3", "ernie4_5")
"""Types whose class ties the head unless the file says otherwise."""


def read(config: Config) -> Architecture:
    model_type = config.word("model_type")
    if model_type == "smollm3":
        config = config.with_defaults(num_key_value_heads=4)
    dims = read_dims(config, tied=model_type in _TIED)
    inner = config.count("intermediate_size")
    every = config.flag("bias", "use_bias")
    biased_in = config.flag("attention_bias", "qkv_bias", default=every)
    biased_out = every if config.get("qkv_bias") is not None else config.flag("attention_out_bias", default=biased_in)
    layer = attention(dims.sides, qkv_bias=biased_in, out_bias=biased_out)
    layer += gated_mlp(dims.hidden, inner, bias=config.flag("mlp_bias", default=every)) + norm(dims.hidden, norms=2)
    return decoder(dims, layer.times(dims.layers), intermediate_size=inner)
