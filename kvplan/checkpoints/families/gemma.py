"""Gemma 1 and 2: tied head, wide heads; Gemma 2 has four norms a layer and a window in every other layer."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("gemma", "gemma2")


def read(config: Config) -> Architecture:
    second = config.word("model_type") == "gemma2"
    config = config.with_defaults(head_dim=256, vocab_size=256000, num_key_value_heads=4 if second else 16)
    dims = read_dims(config, tied=True)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=4 if second else 2)
    kv = dims.full_kv
    if second:
        slides = kv_layers.slides_by_type(config, dims.layers) or tuple(i % 2 == 0 for i in range(dims.layers))
        window = kv_layers.window(config.with_defaults(sliding_window=4096), dims.max_context)
        kv = kv_layers.windowed(slides, window, dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
