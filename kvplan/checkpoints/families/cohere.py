"""Command R and A: one norm a layer, tied head; Cohere 2 has three sliding layers for each full one."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm

MODEL_TYPES = ("cohere", "cohere2")


def read(config: Config) -> Architecture:
    second = config.word("model_type") == "cohere2"
    dims = read_dims(config, tied=True)
    dims = dims._replace(max_context=config.optional_count("model_max_length") or dims.max_context)
    inner = config.count("intermediate_size")
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + gated_mlp(dims.hidden, inner) + norm(dims.hidden)
    layer += norm((dims.heads + dims.kv_heads) * dims.head) if config.flag("use_qk_norm") else Parts()
    kv = dims.full_kv
    if second:
        slides = kv_layers.slides_by_pattern(config, dims.layers, period=4)
        window = kv_layers.window(config.with_defaults(sliding_window=4096), dims.max_context)
        kv = kv_layers.windowed(slides, window, dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
