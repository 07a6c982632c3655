"""MiniMax M2: full attention with norms over all query heads and all key heads, every layer a mixture.

Its file states MTP modules that the checkpoint does not store.
"""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, norm

MODEL_TYPES = ("minimax_m2",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    shared = config.whole("shared_intermediate_size")
    moe = read_moe(config, dims.layers, inner=config.count("intermediate_size"), shared_inner=shared)
    layer = attention(dims.sides) + norm(dims.hidden, norms=2) + moe.parts(dims.hidden, correction=True)
    layer += norm((dims.heads + dims.kv_heads) * dims.head) if config.flag("use_qk_norm") else Parts()
    return decoder(dims, layer.times(dims.layers), experts=moe.record)
