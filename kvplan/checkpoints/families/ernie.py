"""ERNIE 4.5 mixtures: dense layers before ``moe_layer_start_index``, shared experts, a correction bias."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("ernie4_5_moe",)


def read(config: Config) -> Architecture:
    dims = read_dims(config, tied=True)
    inner, width = config.count("intermediate_size"), config.count("moe_intermediate_size")
    mixed = _mixtures(config, dims.layers)
    bias = config.flag("use_bias")
    moe = read_moe(config, mixed, inner=width, shared_inner=width * config.whole("moe_num_shared_experts"))
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2)
    dense = gated_mlp(dims.hidden, inner, bias=bias).times(dims.layers - mixed)
    body = layer.times(dims.layers) + dense + moe.parts(dims.hidden, correction=True).times(mixed)
    return decoder(dims, body, experts=moe.record, intermediate_size=inner if mixed < dims.layers else 0)


def _mixtures(config: Config, layers: int) -> int:
    """How many layers are mixtures: from the start to the end index, every ``moe_layer_interval``-th."""
    start, every = config.whole("moe_layer_start_index", default=1), config.count("moe_layer_interval", default=1)
    end = layers - 1 if config.get("moe_layer_end_index") in (None, -1) else config.whole("moe_layer_end_index")
    return sum(start <= layer <= end and (layer + 1) % every == 0 for layer in range(layers))
