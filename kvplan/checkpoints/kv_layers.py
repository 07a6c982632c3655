"""KV layouts: which layers keep the whole sequence, a window of it, one latent for all heads, or only a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from kvplan.checkpoints.config import Config
from kvplan.domain.model import KvLayers
from kvplan.errors import CannotJudge, InputError, UnknownArchitecture
from kvplan.units import shorten

Meaning = TypeVar("Meaning")
_SLIDES = {"full_attention": False, "sliding_attention": True}
_INDEX_SCALE_BYTES = 4
_INDEX_SCALE_BLOCK = 128


def present(*kinds: KvLayers) -> tuple[KvLayers, ...]:
    """Those kinds that the model has layers of."""
    return tuple(kind for kind in kinds if kind.layers)


def no_map(config: Config, key: str) -> CannotJudge:
    """The refusal of a hybrid that does not say which of its layers are attention: a guess could be far off."""
    return CannotJudge(
        f"{config.path(key)} is missing: it says which layers keep KV and which only a state", where=config.where,
        help="give the complete config.json of the model",
    )  # fmt: skip


def attends(config: Config, layers: int, *keys: str, recurrent: str = "mamba") -> tuple[bool, ...] | None:
    """Which layers of a hybrid are attention by the first of ``keys`` (``layer_types`` ...) that the file has.

    Older files say "attention" and, for what keeps a state, the word of their family; newer ones "full_attention"
    and "linear_attention". None where the file has no such list.
    """
    words = {"attention": True, "full_attention": True, "linear_attention": False, recurrent: False}
    for key in keys:
        listed = config.words_by_layer(key, layers)
        if listed is not None:
            return by_words(config, key, listed, words)
    return None


def indices(config: Config, key: str, layers: int, *, first: int) -> frozenset[int]:
    """The layers that a list names by their number, which starts at ``first``; none twice, none beyond the model."""
    listed = config.whole_list(key)
    for number in listed:
        if not first <= number < first + layers:
            raise config.wrong(key, number, f"must number layers from {first} to {first + layers - 1}")
    if len(set(listed)) < len(listed):
        raise config.wrong(key, list(listed), "must not name a layer twice")
    return frozenset(listed)


def full(layers: int, kv_heads: int, key: int, value: int) -> tuple[KvLayers, ...]:
    """Every layer keeps every token."""
    return (KvLayers("full", layers, kv_heads, key, value),)


def latent(layers: int, cached: int) -> tuple[KvLayers, ...]:
    """MLA: one latent that is key and value of all heads at once; the KV head count of the file means nothing."""
    return (KvLayers("mla", layers, kv_heads=1, key_elements=cached, value_elements=0, replicated=True),)


def index_keys(layers: int, width: int, heads: int) -> KvLayers:
    """Keys of a sparse-attention index: FP8 with a 32-bit scale for each block of 128, whatever the KV format is.

    All query heads of the index share them. Source: vLLM's page size of the indexer cache (132 bytes at a width of
    128).
    """
    stored_bytes = width + _INDEX_SCALE_BYTES * -(-width // _INDEX_SCALE_BLOCK)
    return KvLayers("indexer", layers, 1, width, 0, replicated=True, index_bytes=stored_bytes, index_heads=heads)


def check_heads(heads: int, kv_heads: int, where: str) -> None:
    """InputError where query heads can't share the KV heads evenly."""
    if heads % kv_heads:
        raise InputError(
            f"{heads} attention heads can't share {kv_heads} KV heads evenly; one of the two is wrong", where=where
        )


def windowed(slides: Sequence[bool], window: int | None, one: KvLayers, kind: str = "sliding") -> tuple[KvLayers, ...]:
    """Full and sliding (or chunked) layers of one geometry, that of ``one``; without a window all are full."""
    sliding = sum(slides) if window is not None else 0
    whole = len(slides) - sliding
    geometry = (one.kv_heads, one.key_elements, one.value_elements)
    kept = (KvLayers("full", whole, *geometry),) if whole else ()
    return (*kept, KvLayers(kind, sliding, *geometry, window_tokens=window)) if sliding else kept


def window(config: Config, max_context: int | None, *names: str) -> int | None:
    """The sliding window in tokens, None where there is none or where it is as long as the longest sequence."""
    tokens = config.optional_count(*(names or ("sliding_window",)))
    inert = tokens is not None and max_context is not None and tokens >= max_context
    return None if inert else tokens


def slides_by_type(config: Config, layers: int, mtp_layers: int = 0) -> tuple[bool, ...] | None:
    """Which layers slide by ``layer_types``, None where the file has no such list; it may go on with MTP layers."""
    value = config.get("layer_types")
    longer = mtp_layers if isinstance(value, list) and len(value) == layers + mtp_layers else 0
    words = config.words_by_layer("layer_types", layers + longer)
    return None if words is None else by_words(config, "layer_types", words, _SLIDES)[:layers]


def by_words(config: Config, name: str, words: Sequence[str], meanings: Mapping[str, Meaning]) -> tuple[Meaning, ...]:
    """What each word of a layer map means; a word that is not among ``meanings`` is refused."""
    for word in words:
        if word not in meanings:
            raise UnknownArchitecture(
                f"{name} has {shorten(word)!r}, whose KV cache kvplan does not know", where=config.where
            )
    return tuple(meanings[word] for word in words)


def slides_by_pattern(
    config: Config, layers: int, *, period: int, pattern_key: str = "sliding_window_pattern", mtp_layers: int = 0
) -> tuple[bool, ...]:
    """Which layers slide by a period n (every n-th layer is full) or a word such as "LLLG" (L slides, G is full).

    ``period`` is the default of the model class, for files without the key; ``layer_types`` goes before both.
    """
    listed = slides_by_type(config, layers, mtp_layers)
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


def owning_layers(config: Config, key: str, shared: int, slides: Sequence[bool]) -> int:
    """How many layers, counted from the first, have KV of their own: all but the last ``shared`` ones."""
    owners = len(slides) - shared
    if owners < 1 or set(slides[owners:]) - set(slides[:owners]):
        raise config.wrong(key, shared, "must leave a layer of each kind that has KV of its own")
    return owners


def with_shared(
    config: Config, slides: Sequence[bool], window_tokens: int | None, full_one: KvLayers, sliding_one: KvLayers
) -> tuple[KvLayers, ...]:
    """Full and sliding layers of a geometry each, the last ``num_kv_shared_layers`` of them without KV.

    Those attend to the KV of the last layer of their own kind, so that both kinds must be among the others.
    """
    owners = owning_layers(config, "num_kv_shared_layers", config.whole("num_kv_shared_layers"), slides)
    own, borrowed = [], []
    for slide, one in ((False, full_one), (True, sliding_one)):
        tokens = window_tokens if slide else None
        kind = "full" if tokens is None else "sliding"
        own.append(one._replace(kind=kind, layers=slides[:owners].count(slide), window_tokens=tokens))
        borrowed.append(KvLayers("shared", slides[owners:].count(slide), 0, 0, 0, tokens))
    return present(*own, *borrowed)
