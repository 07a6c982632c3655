"""Llama 4: three layers in four attend within chunks of 8,192 tokens, the fourth to everything; mixtures in between.

A chunked layer starts afresh at each multiple of the chunk, so it never needs more than one chunk of KV. Which layers
are chunked: ``layer_types``, else ``no_rope_layers`` (1 is chunked), else all but every fourth.

Source: transformers 5.24, Llama4TextConfig and its model; the vision tower reproduces the published totals.
"""

from __future__ import annotations

from kvplan.checkpoints import image_towers, kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("llama4", "llama4_text")
_CHUNKED = {"chunked_attention": True, "full_attention": False}


def read(config: Config) -> Architecture:
    text = _read_text(config.text())
    if config.word("model_type") == "llama4_text":
        return text
    return towers.with_tower(text, config, image_towers.llama4_vision)


def _read_text(config: Config) -> Architecture:
    config = config.with_defaults(num_key_value_heads=8, head_dim=128, attention_chunk_size=8192)
    dims = read_dims(config)
    inner, dense_inner = config.count("intermediate_size"), config.count("intermediate_size_mlp", default=16384)
    mixed = _mixtures(config, dims.layers)
    moe = read_moe(config.with_defaults(num_experts_per_tok=1), mixed, inner=inner, shared_inner=inner)
    bias = config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm(dims.hidden, norms=2)
    body = layer.times(dims.layers) + moe.parts(dims.hidden).times(mixed)
    body += gated_mlp(dims.hidden, dense_inner).times(dims.layers - mixed)
    chunk = kv_layers.window(config, dims.max_context, "attention_chunk_size")
    kv = kv_layers.windowed(_chunked(config, dims.layers), chunk, dims.full_kv[0], kind="chunked")
    return decoder(
        dims, body, kv=kv, intermediate_size=dense_inner if mixed < dims.layers else 0,
        experts=moe.record if mixed else None,
    )  # fmt: skip


def _chunked(config: Config, layers: int) -> tuple[bool, ...]:
    words = config.words_by_layer("layer_types", layers)
    if words is not None:
        return kv_layers.by_words(config, "layer_types", words, _CHUNKED)
    listed = config.whole_list("no_rope_layers")
    if listed and (len(listed) < layers or set(listed) - {0, 1}):
        raise config.wrong("no_rope_layers", list(listed), f"must have a 0 or a 1 for each of the {layers} layers")
    if listed:
        return tuple(number == 1 for number in listed[:layers])
    every = config.count("no_rope_layer_interval", default=4)
    return tuple((layer + 1) % every != 0 for layer in range(layers))


def _mixtures(config: Config, layers: int) -> int:
    """How many layers are mixtures: those that ``moe_layers`` names, else every ``interleave_moe_layer_step``-th."""
    if config.get("moe_layers") is not None:
        return sum(layer < layers for layer in set(config.whole_list("moe_layers")))
    return layers // config.count("interleave_moe_layer_step", default=1)
