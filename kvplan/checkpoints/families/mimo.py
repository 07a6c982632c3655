"""MiMo 7B: Qwen 2 with MTP layers."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, mtp_head, norm

MODEL_TYPES = ("mimo",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides, qkv_bias=config.flag("attention_bias", default=True))
    layer += gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    kv = kv_layers.switched_window(config, dims.full_kv[0], dims.max_context)
    heads = config.whole("num_nextn_predict_layers")
    return decoder(
        dims, layer.times(dims.layers), kv=kv, intermediate_size=inner, mtp=mtp_head(dims.hidden, layer).times(heads),
        mtp_kv=(dims.full_kv[0]._replace(layers=heads),) if heads else (),
    )  # fmt: skip
