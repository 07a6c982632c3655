"""Mamba 2: a state for every head in every layer and no KV at all."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder
from kvplan.checkpoints.elements import norm
from kvplan.checkpoints.recurrent import Mamba2, read_stateful, state_in_float32

MODEL_TYPES = ("mamba2",)


def read(config: Config) -> Architecture:
    dims = read_stateful(config, tied=False)
    config = config.with_defaults(num_heads=128, head_dim=64, n_groups=8, state_size=128, conv_kernel=4)
    mixer = Mamba2(
        dims.hidden, config.count("num_heads"), config.count("head_dim"), config.count("n_groups"),
        config.count("state_size"), config.count("conv_kernel"),
    )  # fmt: skip
    own = config.flag("use_bias")
    parts = mixer.parts(in_bias=own, out_bias=own, conv_bias=config.flag("use_conv_bias", default=True))
    body = (parts + norm(dims.hidden)).times(dims.layers)
    return decoder(dims, body, kv=(mixer.kv(dims.layers, float32=state_in_float32(config)),))
