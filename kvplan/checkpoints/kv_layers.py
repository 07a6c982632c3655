"""KV layouts: which layers keep the whole sequence, which only a window of it, which one latent for all heads."""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.checkpoints.config import Config
from kvplan.domain.model import KvLayers
from kvplan.errors import UnknownArchitecture
from kvplan.units import shorten

_SLIDES = {"full_attention": False, "sliding_attention": True}


def full(layers: int, kv_heads: int, key: int, value: int) -> tuple[KvLayers, ...]:
    """Every layer keeps every token."""
    return (KvLayers("full", layers, kv_heads, key, value),)


def latent(layers: int, cached: int) -> tuple[KvLayers, ...]:
    """MLA: one latent that is key and value of all heads at once; the KV head count of the file means nothing."""
    return (KvLayers("mla", layers, kv_heads=1, key_elements=cached, value_elements=0, replicated=True),)


def windowed(slides: Sequence[bool], window: int | None, one: KvLayers) -> tuple[KvLayers, ...]:
    """Full and sliding layers of one geometry, that of ``one``; without a window all are full."""
    sliding = sum(slides) if window is not None else 0
    whole = len(slides) - sliding
    geometry = (one.kv_heads, one.key_elements, one.value_elements)
    kept = (KvLayers("full", whole, *geometry),) if whole else ()
    return (*kept, KvLayers("sliding", sliding, *geometry, window_tokens=window)) if sliding else kept


def window(config: Config, max_context: int | None, *names: str) -> int | None:
    """The sliding window in tokens, None where there is none or where it is as long as the longest sequence."""
    tokens = config.optional_count(*(names or ("sliding_window",)))
    inert = tokens is not None and max_context is not None and tokens >= max_context
    return None if inert else tokens


def slides_by_type(config: Config, layers: int) -> tuple[bool, ...] | None:
    """Which layers slide by ``layer_types``, None where the file has no such list."""
    words = config.words_by_layer("layer_types", layers)
    if words is None:
        return None
    for word in words:
        if word not in _SLIDES:
            raise UnknownArchitecture(
                f"layer_types has {shorten(word)!r}, whose KV cache kvplan does not know", where=config.where
            )
    return tuple(_SLIDES[word] for word in words)


def slides_by_pattern(
    config: Config, layers: int, *, period: int, pattern_key: str = "sliding_window_pattern"
) -> tuple[bool, ...]:
    """Which layers slide by a period n (every n-th layer is full) or a word such as "LLLG" (L slides, G is full).

    ``period`` is the default of the model class, for files without the key; ``layer_types`` goes before both.
    """
    listed = slides_by_type(config, layers)
    if listed is not None:
        return listed
    keys = (pattern_key, f"_{pattern_key}")
    pattern = config.get(*keys)
    if isinstance(pattern, str):
        if not pattern or set(pattern) - {"L", "G"} or len(pattern) > layers:
            raise config.wrong(pattern_key, pattern, 'must be a number or a word of L and G, such as "LLLG"')
        return tuple(pattern[layer % len(pattern)] == "L" for layer in range(layers))
    every = config.count(*keys, default=period)
    return tuple((layer + 1) % every != 0 for layer in range(layers))


def switched_window(config: Config, one: KvLayers, max_context: int | None) -> tuple[KvLayers, ...]:
    """Qwen's windows: only with ``use_sliding_window``, and then in the layers from ``max_window_layers`` on.

    Released Qwen models state a window and leave the switch off, so the window alone means nothing.
    """
    if not config.flag("use_sliding_window"):
        return windowed((False,) * one.layers, None, one)
    first = config.whole("max_window_layers", default=28)
    slides = slides_by_type(config, one.layers) or tuple(layer >= first for layer in range(one.layers))
    return windowed(slides, window(config.with_defaults(sliding_window=4096), max_context), one)
