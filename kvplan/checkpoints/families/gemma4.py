"""Gemma 4: full layers with wider heads and KV heads of their own; some models share KV, some are mixtures.

Where ``attention_k_eq_v`` is on, full layers have no value matrix: values are the keys before their norm, and both
are cached all the same (vLLM and SGLang). The last ``num_kv_shared_layers`` keep no KV; their key and value matrices
are in the checkpoint none the less. The shipped vision towers are computed from their config.

Source: transformers 5.24, Gemma4TextConfig, Gemma4VisionConfig and their models; held by published totals.
"""

from __future__ import annotations

from kvplan.checkpoints import image_towers, kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Heads, Parts, attention, gated_mlp, linear, norm
from kvplan.domain.model import KvLayers
from kvplan.errors import InputError, UnknownArchitecture

MODEL_TYPES = ("gemma4", "gemma4_text")
LAYER_KEYS = ("per_layer_config",)
_OVERRIDES = ("head_dim", "num_key_value_heads")


def read(config: Config) -> Architecture:
    text = _read_text(config.text())
    if config.word("model_type") == "gemma4_text":
        return text
    seeing = towers.with_tower(text, config, image_towers.gemma4_vision)
    audio = config.section("audio_config")
    if audio is None:  # the models with embeddings of each layer hear, and a shortened file may not say so
        silent = config.stated("audio_config") or not text.lookup
        return seeing if silent else towers.with_unknown_tower(text)
    heard = image_towers.gemma4_audio(audio, text.hidden_size)
    if heard is None or seeing.towers_unknown:
        return towers.with_unknown_tower(text)
    return seeing._replace(towers=seeing.towers + heard)


def _read_text(config: Config) -> Architecture:
    config = config.with_defaults(
        num_attention_heads=8, num_key_value_heads=4, head_dim=256, vocab_size=262144, max_position_embeddings=131072,
        sliding_window=512, hidden_size_per_layer_input=256, vocab_size_per_layer_input=262144,
    )  # fmt: skip
    dims = read_dims(config, tied=True)
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=6)
    slides = (*slides[:-1], False)  # the last layer is full, whatever the file says
    wide, narrow = _full_sides(config, dims, slides), dims.sides
    full, inner = slides.count(False), config.count("intermediate_size")
    shared = min(config.whole("num_kv_shared_layers"), dims.layers)
    double = shared if config.flag("use_double_wide_mlp") else 0
    body = _attention(config, wide, keys_are_values=config.flag("attention_k_eq_v")).times(full)
    body += _attention(config, narrow, keys_are_values=False).times(dims.layers - full)
    body += (norm(dims.hidden, norms=4) + Parts(other=1)).times(dims.layers)
    body += gated_mlp(dims.hidden, inner).times(dims.layers - double) + gated_mlp(dims.hidden, 2 * inner).times(double)
    tables, table = _own_embeddings(config, dims)
    moe = _mixture(config, dims)
    if moe is not None:
        extra = norm(dims.hidden, norms=4) + Parts(other=moe.experts)
        body += (moe.parts(dims.hidden) + extra).times(dims.layers)
    kinds = [KvLayers("", 0, sides.kv_heads, sides.key, sides.value) for sides in (wide, narrow)]
    kv = kv_layers.with_shared(config, slides, kv_layers.window(config, dims.max_context), *kinds)
    return decoder(
        dims, body + tables, kv=kv, intermediate_size=inner, lookup=table,
        experts=moe.record if moe is not None else None,
    )  # fmt: skip


def _attention(config: Config, sides: Heads, *, keys_are_values: bool) -> Parts:
    bias = config.flag("attention_bias")
    parts = attention(sides, qkv_bias=bias, out_bias=bias) + norm(sides.key, norms=2)
    if keys_are_values:
        parts = Parts(parts.linear[:2] + parts.linear[3:], (), parts.other)
    return parts


def _full_sides(config: Config, dims: Dims, slides: tuple[bool, ...]) -> Heads:
    """Heads of the full layers: by the shipped keys, or by ``per_layer_config`` as transformers 5 writes it again."""
    width, kv_heads = config.count("global_head_dim", default=512), dims.kv_heads
    if config.flag("attention_k_eq_v"):
        kv_heads = config.count("num_global_key_value_heads", default=dims.kv_heads)
    layers = config.section("per_layer_config")
    if layers is not None:
        width, kv_heads = _overridden(layers, dims, slides)
    if dims.heads % kv_heads:
        raise InputError(
            f"{dims.heads} attention heads can't share {kv_heads} KV heads of full layers evenly", where=config.where
        )
    return Heads(dims.hidden, dims.heads, kv_heads, width, width)


def _overridden(layers: Config, dims: Dims, slides: tuple[bool, ...]) -> tuple[int, int]:
    """(head width, KV heads) of the full layers, which must be the ones with overrides, and all with the same."""
    found = set()
    for name in layers.names():
        one = layers.section(name)
        if one is None or not set(one.names()) <= set(_OVERRIDES):
            raise _not_known(layers)
        found.add((one.count("head_dim", default=dims.head), one.count("num_key_value_heads", default=dims.kv_heads)))
    if len(found) != 1 or set(layers.names()) != {str(i) for i, slide in enumerate(slides) if not slide}:
        raise _not_known(layers)
    return found.pop()


def _not_known(layers: Config) -> UnknownArchitecture:
    return UnknownArchitecture(
        "per_layer_config changes the layers in a way that kvplan does not know yet", where=layers.where
    )


def _own_embeddings(config: Config, dims: Dims) -> tuple[Parts, int]:
    """What the embeddings of each layer take, and the table among it; nothing where their width is 0."""
    width = config.whole("hidden_size_per_layer_input")
    if not width:
        return Parts(), 0
    table = config.count("vocab_size_per_layer_input") * dims.layers * width
    gates = linear(dims.hidden, width) + linear(width, dims.hidden) + norm(dims.hidden)
    ends = linear(dims.hidden, dims.layers * width) + norm(width)
    return gates.times(dims.layers) + ends + Parts(other=table), table


def _mixture(config: Config, dims: Dims) -> Moe | None:
    """Experts beside the dense feed-forward part of every layer, in models that have them."""
    if not config.flag("enable_moe_block"):
        return None
    inner = config.count("moe_intermediate_size")
    return read_moe(config, dims.layers, inner=inner, per_token=config.count("top_k_experts"))
