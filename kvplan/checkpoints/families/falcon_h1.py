"""Falcon-H1: every layer runs attention and Mamba-2 side by side, so each keeps KV and a state."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm
from kvplan.checkpoints.recurrent import read_mamba2, state_in_float32

MODEL_TYPES = ("falcon_h1",)


def read(config: Config) -> Architecture:
    """``mamba_d_ssm`` is the inner width of the mixer; null means ``mamba_expand`` times the hidden width."""
    dims = read_dims(config.with_defaults(num_key_value_heads=8))
    inner, bias = config.count("intermediate_size"), config.flag("attention_bias")
    expanded = dims.hidden * config.count("mamba_expand", default=2)
    stated = config.with_defaults(mamba_d_ssm=1024).optional_count("mamba_d_ssm")
    mamba = read_mamba2(config, dims.hidden, stated or expanded)
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2)
    layer += gated_mlp(dims.hidden, inner, bias=config.flag("mlp_bias"))
    layer += mamba.parts(
        gated_norm=config.flag("mamba_rms_norm"), in_bias=config.flag("mamba_proj_bias"),
        out_bias=config.flag("projectors_bias"), conv_bias=config.flag("mamba_conv_bias", default=True),
    )  # fmt: skip
    kv = (*dims.full_kv, mamba.kv(dims.layers, float32=state_in_float32(config)))
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
