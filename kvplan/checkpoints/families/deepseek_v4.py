"""DeepSeek V4: every layer keeps a window of 128 tokens, most also one entry for each 4 or 128 tokens before it.

One vector of ``head_dim`` is key and value of all heads. ``compress_ratios`` names the layers: 0 has the window only,
4 also an entry for each 4 tokens and an index that picks ``index_topk`` of them, 128 an entry for each 128 tokens,
all of which are read. What has not filled an entry yet waits in a small 32-bit buffer, for each sequence: 8 rows of
keys and scores of twice the width (and of the index) at ratio 4, 128 rows of the plain width at ratio 128.

Sources: transformers 5.24, modeling_deepseek_v4; the buffers of SGLang without speculation; held by published totals.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, linear, norm
from kvplan.domain.model import KvLayers, State
from kvplan.errors import UnknownArchitecture
from kvplan.units import shorten

MODEL_TYPES = ("deepseek_v4",)
_SPARSE, _DENSE = 4, 128
"""Tokens of an entry in the two kinds of compressed layers: with an index, and without."""
_WORDS = {"sliding_attention": 0, "compressed_sparse_attention": _SPARSE, "heavily_compressed_attention": _DENSE}


def read(config: Config) -> Architecture:
    config = config.with_defaults(
        num_key_value_heads=1, head_dim=512, sliding_window=128, index_topk=512, index_head_dim=128, index_n_heads=64,
        num_experts_per_tok=6,
    )  # fmt: skip
    dims = read_dims(config)._replace(kv_heads=1)
    heads = config.whole("num_nextn_predict_layers")
    ratios = _ratios(config, dims.layers)
    inner = config.count("moe_intermediate_size")
    shared_inner = inner * config.whole("n_shared_experts", default=1)
    moe = read_moe(config, dims.layers, inner=inner, shared_inner=shared_inner)
    layer = _attention(config, dims) + norm(dims.hidden, norms=2) + _streams(config, dims).times(2)
    layer += moe.parts(dims.hidden)
    hashed = _hashed(config, dims.layers)
    table = dims.vocab * moe.per_token * hashed
    body = layer.times(dims.layers) + Parts(other=table + moe.experts * (dims.layers - hashed))
    body += _compressor(dims, config.count("head_dim"), _DENSE, 1).times(ratios.count(_DENSE))
    body += _sparse_compressor(config, dims).times(ratios.count(_SPARSE)) + _stream_head(config, dims)
    return decoder(
        dims, body, kv=_kv(config, dims, ratios), experts=moe.record, lookup=table,
        mtp=_mtp_head(config, dims, layer, moe).times(heads),
        mtp_kv=(_window(config, dims, heads),) if heads else (),
    )  # fmt: skip


def _ratios(config: Config, layers: int) -> tuple[int, ...]:
    """Tokens of a compressed entry in each layer, 0 where there are none; the list may go on with the MTP layers."""
    words = config.words_by_layer("layer_types", layers)
    ratios: Sequence[int] = config.whole_list("compress_ratios")
    if not ratios and words is None:
        raise config.missing("compress_ratios")
    if not ratios:
        unknown = [word for word in words or () if word not in _WORDS]
        rates = config.section("compress_rates")
        if unknown or rates is not None:
            what = f"layer_types has {shorten(unknown[0])!r}" if unknown else "compress_rates is set"
            if unknown or any(rates is not None and rates.get(word) not in (None, _WORDS[word]) for word in _WORDS):
                raise UnknownArchitecture(f"{what}, whose KV cache kvplan does not know", where=config.where)
        return tuple(_WORDS[word] for word in words or ())
    if len(ratios) < layers:
        raise config.wrong("compress_ratios", list(ratios), f"must have one entry for each of the {layers} layers")
    for ratio in ratios[:layers]:
        if ratio not in _WORDS.values():
            raise UnknownArchitecture(
                f"compress_ratios has {ratio}: kvplan knows the KV cache of 0, 4 and 128", where=config.where
            )
    return tuple(ratios[:layers])


def _hashed(config: Config, layers: int) -> int:
    """Layers that route by a table of the vocabulary: these have no correction bias."""
    words = config.words_by_layer("mlp_layer_types", layers)
    if words is not None:
        return words.count("hash_moe")
    return min(config.whole("num_hash_layers", default=3), layers)


def _kv(config: Config, dims: Dims, ratios: Sequence[int]) -> tuple[KvLayers, ...]:
    width = config.count("index_head_dim")
    sparse, dense = ratios.count(_SPARSE), ratios.count(_DENSE)
    entry = KvLayers("compressed", sparse, 1, dims.head, 0, replicated=True, tokens_per_entry=_SPARSE)
    index = kv_layers.index_keys(sparse, width, config.count("index_n_heads"))._replace(tokens_per_entry=_SPARSE)
    waiting = KvLayers("compressor", sparse, 1, 0, 0, replicated=True)
    all_kinds = (
        _window(config, dims, dims.layers),
        entry._replace(read_tokens=_SPARSE * config.count("index_topk")),
        index,
        entry._replace(layers=dense, tokens_per_entry=_DENSE),
        waiting._replace(state=State(0, 2 * _SPARSE * 2 * 2 * (dims.head + width), recurrent_float32=True)),
        waiting._replace(layers=dense, state=State(0, _DENSE * 2 * dims.head, recurrent_float32=True)),
    )
    return kv_layers.present(*all_kinds)


def _window(config: Config, dims: Dims, layers: int) -> KvLayers:
    return KvLayers("sliding", layers, 1, dims.head, 0, config.count("sliding_window"), replicated=True)


def _attention(config: Config, dims: Dims) -> Parts:
    """Queries by a low rank, one key-value vector, a sink a head, and an output by groups: H·d/g -> rank each."""
    rank, groups, out = config.count("q_lora_rank"), config.count("o_groups"), config.count("o_lora_rank")
    width = dims.heads * dims.head
    if width % groups:
        raise config.wrong("o_groups", groups, f"must divide heads times head width, {width}")
    queries = linear(dims.hidden, rank) + norm(rank) + linear(rank, width)
    vector = linear(dims.hidden, dims.head) + norm(dims.head)
    output = linear(width // groups, groups * out) + linear(groups * out, dims.hidden)
    return queries + vector + output + Parts(other=dims.heads)


def _compressor(dims: Dims, width: int, tokens: int, factor: int) -> Parts:
    """What makes an entry of so many tokens: values and scores, a position for each token, a norm."""
    wide = factor * width
    return linear(dims.hidden, wide).times(2) + Parts(other=tokens * wide) + norm(width)


def _sparse_compressor(config: Config, dims: Dims) -> Parts:
    """Overlapping entries of 4 tokens (twice the width), the same for the index, and the queries of the index."""
    width, heads = config.count("index_head_dim"), config.count("index_n_heads")
    index = _compressor(dims, width, _SPARSE, 2) + linear(config.count("q_lora_rank"), heads * width)
    return _compressor(dims, dims.head, _SPARSE, 2) + index + Parts(other=dims.hidden * heads)


def _streams(config: Config, dims: Dims) -> Parts:
    """Mixing n residual streams before and after a sub-layer: (2 + n)·n weights from n·D inputs."""
    streams = config.count("hc_mult", default=4)
    mixed = (2 + streams) * streams
    return Parts(other=mixed * streams * dims.hidden + mixed + 3)


def _stream_head(config: Config, dims: Dims) -> Parts:
    """Joining the streams at the end."""
    streams = config.count("hc_mult", default=4)
    return Parts(other=streams * streams * dims.hidden + streams + 1)


def _mtp_head(config: Config, dims: Dims, layer: Parts, moe: Moe) -> Parts:
    """A layer with the window only, two matrices D·D that join its inputs, three norms, streams joined at the end."""
    joint = linear(dims.hidden, dims.hidden).times(2) + norm(dims.hidden, norms=3)
    return layer + Parts(other=moe.experts) + joint + _stream_head(config, dims)
