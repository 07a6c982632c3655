"""DBRX: its own key names, nested settings for attention and experts, LayerNorms without biases."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, norm

MODEL_TYPES = ("dbrx",)


def read(config: Config) -> Architecture:
    experts, heads = config.section("ffn_config"), config.section("attn_config")
    if experts is None or heads is None:
        raise config.missing("attn_config" if heads is None else "ffn_config")
    dims = read_dims(config.with_defaults(num_key_value_heads=heads.count("kv_n_heads", default=1)))
    moe = read_moe(experts, dims.layers, inner=experts.count("ffn_hidden_size"))
    layer = attention(dims.sides) + norm(dims.hidden, norms=2) + moe.parts(dims.hidden)
    return decoder(dims, layer.times(dims.layers), experts=moe.record)
