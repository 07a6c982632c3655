"""The KV cache that the keys of a GGUF file describe: which layers keep what, and how many tokens of it.

Keys come first; what older files leave out has the default of its architecture in llama.cpp. Which layers of a hybrid
are recurrent is read off the table of tensors, which never leaves it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import NamedTuple

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.gguf.architectures import Rules
from kvplan.checkpoints.gguf.keys import GgufKeys
from kvplan.checkpoints.gguf.states import recurrent_layers, state_layer
from kvplan.domain.model import KvLayers

_KIND_ORDER = {"full": 0, "mla": 0, "indexer": 1, "sliding": 2, "chunked": 2, "shared": 3}


class Blocks(NamedTuple):
    """Which blocks have tensors of some sort, by the table of tensors."""

    stateful: Set[int]
    indexed: Set[int]


class GgufKv(NamedTuple):
    """Geometry of attention and what the layers cache."""

    heads: int
    head_elements: int
    kv: tuple[KvLayers, ...]
    mtp_kv: tuple[KvLayers, ...]
    max_context: int
    warnings: tuple[str, ...]


class _Attention(NamedTuple):
    """One attention layer, full and sliding, of one KV head."""

    full: KvLayers
    sliding: KvLayers
    head_elements: int


def read_kv(keys: GgufKeys, rules: Rules, blocks: Blocks) -> GgufKv:
    """The caches of all layers."""
    heads = keys.per_block("attention.head_count", default=0)
    context = _max_context(keys)
    recurrent = recurrent_layers(keys, rules, blocks.stateful)
    if not any(heads) and rules.attends:
        raise keys.missing("attention.head_count")
    latent = rules.latent and bool(keys.optional_count("attention.key_length_mla"))
    kv_heads = _kv_heads(keys, rules, heads, latent)
    warnings = _latent_warning(keys, rules, latent)
    found: Counter[KvLayers] = Counter()
    if rules.attends:
        attention = _attention(keys, max(heads), latent)
        slides, window, ignored = _windows(keys, rules, context)
        warnings += ignored
        attending = [not state or rules.all_recurrent for state in recurrent]
        found.update(_attending(keys, rules, attention, (kv_heads, slides, attending), window))
        found.update(_indexers(keys, attention, blocks.indexed))
    states = sum(recurrent)
    if states:
        found[state_layer(keys, rules, max(heads))] = states
    kv = tuple(kind._replace(layers=layers) for kind, layers in found.items())
    if not kv:
        raise keys.wrong("attention.head_count_kv", 0, "must not be 0 in every layer")
    mtp_kv = _mtp(keys, attention, kv_heads, blocks.indexed) if rules.attends else ()
    return GgufKv(
        heads=max(heads),
        head_elements=attention.head_elements if rules.attends else 0,
        kv=tuple(sorted(kv, key=lambda kind: (_KIND_ORDER.get(kind.kind, 4), kind.window_tokens or 0))),
        mtp_kv=mtp_kv,
        max_context=context,
        warnings=warnings,
    )


def _max_context(keys: GgufKeys) -> int:
    """The stated length; with YaRN at least the original length times the factor. Linear scaling is in it already."""
    stated = keys.count("context_length")
    original, factor = keys.optional_count("rope.scaling.original_context_length"), keys.get("rope.scaling.factor")
    if keys.get("rope.scaling.type") != "yarn" or original is None or not isinstance(factor, (int, float)):
        return stated
    if not 1 <= factor <= 2**20:
        raise keys.wrong("rope.scaling.factor", factor, "must be from 1 to 2^20")
    return max(stated, int(original * factor))


def _kv_heads(keys: GgufKeys, rules: Rules, heads: tuple[int, ...], latent: bool) -> tuple[int, ...]:
    """KV heads of every block: as many as query heads where nothing is said, one where they share a latent."""
    if not keys.stated("attention.head_count_kv"):
        return (1,) * keys.blocks if latent else heads
    found = keys.per_block("attention.head_count_kv", default=0)
    if 0 in found and rules.state is None and not rules.skips:
        raise keys.wrong("attention.head_count_kv", 0, "must not be 0 in this architecture")
    for query, key in zip(heads, found, strict=True):
        if query and key:
            kv_layers.check_heads(query, key, keys.where)
    return found


def _attention(keys: GgufKeys, heads: int, latent: bool) -> _Attention:
    if latent:
        rank, rope = keys.count("attention.kv_lora_rank"), keys.count("rope.dimension_count", default=64)
        cached = keys.count("attention.key_length", default=rank + rope)
        read = keys.optional_count("attention.indexer.top_k")
        one = KvLayers("mla", 0, 1, cached, 0, replicated=True, read_tokens=read)
        return _Attention(one, one, keys.count("attention.key_length_mla"))
    hidden = keys.count("embedding_length")
    if hidden % heads and not keys.stated("attention.key_length"):
        raise keys.missing("attention.key_length")
    key = keys.count("attention.key_length", default=max(hidden // heads, 1))
    value = keys.count("attention.value_length", default=max(hidden // heads, 1))
    sliding_key = keys.count("attention.key_length_swa", default=key)
    sliding_value = keys.count("attention.value_length_swa", default=value)
    return _Attention(
        KvLayers("full", 0, 1, key, value), KvLayers("sliding", 0, 1, sliding_key, sliding_value), max(key, sliding_key)
    )


def _latent_warning(keys: GgufKeys, rules: Rules, latent: bool) -> tuple[str, ...]:
    if latent or not rules.latent:
        return ()
    text = "converted before key_length_mla was stored, so llama.cpp caches all heads and not their latent"
    return (f"{text}: a file that is converted again takes far less KV",)


def _windows(keys: GgufKeys, rules: Rules, context: int) -> tuple[tuple[bool, ...], int | None, tuple[str, ...]]:
    """(which blocks slide, over how many tokens, warnings)."""
    rule, name = rules.windows, "attention.sliding_window_pattern"
    none = (False,) * keys.blocks
    tokens = keys.optional_count("attention.sliding_window")
    pattern = keys.pattern(name)
    if rule is None:
        if tokens is None or tokens >= context:
            return none, None, ()
        if isinstance(pattern, tuple):
            return pattern, tokens, ()
        return none, None, (f"llama.cpp does not use the window of {tokens:,} tokens that this file states",)
    if not keys.stated("attention.sliding_window") and rule.only_layers in (None, keys.layers):
        tokens = rule.tokens
    if tokens is None and rule.needed:
        raise keys.missing("attention.sliding_window")
    if tokens is None or tokens >= context:
        return none, None, ()
    if pattern is None and rule.period is None:
        raise keys.missing(name)
    period = rule.period if pattern is None else pattern
    return period if isinstance(period, tuple) else _periodic(keys.blocks, period or 0, rule.first_full), tokens, ()


def _periodic(blocks: int, period: int, first_full: bool) -> tuple[bool, ...]:
    """Of each period the last block is full, or the first one; a period of 0 has none."""
    if period == 0:
        return (True,) * blocks
    full = 0 if first_full else period - 1
    return tuple(block % period != full for block in range(blocks))


def _attending(
    keys: GgufKeys, rules: Rules, attention: _Attention,
    by_block: tuple[tuple[int, ...], tuple[bool, ...], list[bool]], window: int | None,
) -> Counter[KvLayers]:  # fmt: skip
    """Attention layers by what they keep. ``by_block``: KV heads, whether it slides, whether it attends at all."""
    kv_heads, slides, attending = by_block
    owners = _owners(keys, rules, slides)
    found: Counter[KvLayers] = Counter()
    kind = rules.windows.kind if rules.windows is not None else "sliding"
    for layer in range(keys.layers):
        if not attending[layer] or not kv_heads[layer]:
            continue
        tokens = window if slides[layer] else None
        if layer >= owners:
            found[KvLayers("shared", 0, 0, 0, 0, tokens)] += 1
        elif tokens is None:
            found[attention.full._replace(kv_heads=kv_heads[layer])] += 1
        else:
            found[attention.sliding._replace(kind=kind, kv_heads=kv_heads[layer], window_tokens=tokens)] += 1
    return found


def _owners(keys: GgufKeys, rules: Rules, slides: tuple[bool, ...]) -> int:
    """Layers with KV of their own; those behind them use that of the last layer of their kind."""
    shared = keys.whole("attention.shared_kv_layers")
    if rules.shared_from is not None and not keys.stated("attention.shared_kv_layers"):
        shared = max(0, keys.layers - rules.shared_from)
    return kv_layers.owning_layers(keys, "attention.shared_kv_layers", shared, slides[: keys.layers])


def _indexers(keys: GgufKeys, attention: _Attention, indexed: Set[int]) -> Counter[KvLayers]:
    """Index keys of sparse attention, in the layers that own an index; none where the file has no such tensors."""
    owners = sum(block < keys.layers for block in indexed)
    return Counter({_index_keys(keys): owners}) if owners and attention.full.kind == "mla" else Counter()


def _index_keys(keys: GgufKeys) -> KvLayers:
    width, heads = keys.count("attention.indexer.key_length"), keys.count("attention.indexer.head_count")
    return kv_layers.index_keys(0, width, heads)


def _mtp(keys: GgufKeys, attention: _Attention, kv_heads: tuple[int, ...], indexed: Set[int]) -> tuple[KvLayers, ...]:
    """What the MTP blocks cache while they speculate."""
    found: Counter[KvLayers] = Counter()
    for block in range(keys.layers, keys.blocks):
        if kv_heads[block]:
            found[attention.full._replace(kv_heads=kv_heads[block])] += 1
        if block in indexed and attention.full.kind == "mla":
            found[_index_keys(keys)] += 1
    return tuple(kind._replace(layers=layers) for kind, layers in found.items())
