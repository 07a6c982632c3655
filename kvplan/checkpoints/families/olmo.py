"""OLMo: norms without elements in version 1, norms over all query and key heads later; 3 slides in 3 of 4 layers."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm

MODEL_TYPES = ("olmo", "olmo2", "olmo3")


def read(config: Config) -> Architecture:
    version = config.word("model_type")
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + gated_mlp(dims.hidden, inner)
    if version != "olmo":
        layer += norm(dims.hidden, norms=2) + norm((dims.heads + dims.kv_heads) * dims.head)
    kv = dims.full_kv
    if version == "olmo3":
        slides = kv_layers.slides_by_pattern(config, dims.layers, period=4)
        window = kv_layers.window(config.with_defaults(sliding_window=4096), dims.max_context)
        kv = kv_layers.windowed(slides, window, dims.full_kv[0])
    final = Parts() if version == "olmo" else norm(dims.hidden)
    return decoder(dims, layer.times(dims.layers), kv=kv, final_norm=final, intermediate_size=inner)
