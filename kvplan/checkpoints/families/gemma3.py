"""Gemma 3: five sliding layers for each full one, four norms a layer and norms on query and key heads.

The shipped files leave out what equals the class default: heads, KV heads, vocabulary and lengths of the 4B model.
The stated length is already the scaled one, so RoPE scaling does not lengthen it again.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("gemma3", "gemma3_text")


def read(config: Config) -> Architecture:
    text = _read_text(config.text())
    nested = config.word("model_type") == "gemma3"
    return towers.with_tower(text, config, towers.siglip_gemma3) if nested else text


def _read_text(config: Config) -> Architecture:
    config = config.with_defaults(
        num_attention_heads=8, num_key_value_heads=4, head_dim=256, vocab_size=262208, max_position_embeddings=131072
    )
    dims = read_dims(config, tied=True)._replace(max_context=config.count("max_position_embeddings"))
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=4)
    layer += norm(dims.head, norms=2)
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=6)
    if not config.stated("sliding_window"):
        raise config.missing("sliding_window")
    kv = kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)
