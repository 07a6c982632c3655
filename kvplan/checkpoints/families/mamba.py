"""Mamba and Falcon-Mamba: a state in every layer and no KV at all."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder
from kvplan.checkpoints.elements import norm
from kvplan.checkpoints.recurrent import Mamba1, read_stateful, state_in_float32

MODEL_TYPES = ("mamba", "falcon_mamba")


def read(config: Config) -> Architecture:
    """The stated inner width goes before ``expand``: Falcon-Mamba's file states a factor that it does not have."""
    dims = read_stateful(config, tied=True)
    automatic = config.get("time_step_rank") in (None, "auto")
    mixer = Mamba1(
        dims.hidden,
        config.optional_count("intermediate_size", "d_inner") or dims.hidden * config.count("expand", default=2),
        config.count("state_size", default=16),
        config.count("conv_kernel", default=4),
        -(-dims.hidden // 16) if automatic else config.count("time_step_rank"),
    )
    parts = mixer.parts(bias=config.flag("use_bias"), conv_bias=config.flag("use_conv_bias", default=True))
    body = (parts + norm(dims.hidden)).times(dims.layers)
    return decoder(dims, body, kv=(mixer.kv(dims.layers, float32=state_in_float32(config)),))
