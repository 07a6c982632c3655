"""Trinity (AFMoE): gated attention, four norms a layer, three sliding layers for each full one, dense layers first."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, linear, norm

MODEL_TYPES = ("afmoe",)


def read(config: Config) -> Architecture:
    """The gate of the attention output is one more matrix D·H·d."""
    dims = read_dims(config)
    inner, width = config.count("intermediate_size"), config.count("moe_intermediate_size")
    first = min(config.whole("num_dense_layers"), dims.layers)
    shared = width * config.whole("num_shared_experts")
    moe = read_moe(config, dims.layers - first, inner=width, shared_inner=shared)
    layer = attention(dims.sides) + linear(dims.hidden, dims.heads * dims.head)
    layer += norm(dims.head, norms=2) + norm(dims.hidden, norms=4)
    body = layer.times(dims.layers) + gated_mlp(dims.hidden, inner).times(first)
    body += moe.parts(dims.hidden, correction=True).times(moe.layers)
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=4, pattern_key="global_attn_every_n_layers")
    window = kv_layers.window(config.with_defaults(sliding_window=1024), dims.max_context)
    kv = kv_layers.windowed(slides, window, dims.full_kv[0])
    return decoder(dims, body, kv=kv, intermediate_size=inner if first else 0, experts=moe.record)
