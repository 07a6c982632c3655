"""Hy 3 (Hunyuan 3): norms on query and key heads, one dense layer, then mixtures with a shared expert.

Source: transformers 5.24, HYV3Config and its model.
"""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, mtp_head, norm
from kvplan.checkpoints.families.deepseek import mixtures

MODEL_TYPES = ("hy_v3",)


def read(config: Config) -> Architecture:
    config = config.with_defaults(num_key_value_heads=8, head_dim=128, first_k_dense_replace=1, num_shared_experts=1)
    dims = read_dims(config)
    inner, width = config.count("intermediate_size"), config.count("moe_intermediate_size")
    mixed = mixtures(config, dims.layers)
    moe = read_moe(config, mixed, inner=width, shared_inner=width * config.whole("num_shared_experts"))
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.head, norms=2) + norm(dims.hidden, norms=2)
    mixture = moe.parts(dims.hidden, correction=True)
    dense = gated_mlp(dims.hidden, inner, bias=config.flag("mlp_bias"))
    heads = config.whole("num_nextn_predict_layers")
    return decoder(
        dims, layer.times(dims.layers) + mixture.times(mixed) + dense.times(dims.layers - mixed), experts=moe.record,
        intermediate_size=inner if mixed < dims.layers else 0, mtp=mtp_head(dims.hidden, layer + mixture).times(heads),
        mtp_kv=(dims.full_kv[0]._replace(layers=heads),) if heads else (),
    )  # fmt: skip
