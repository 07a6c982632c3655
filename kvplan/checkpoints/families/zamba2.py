"""Zamba 2: Mamba-2 in every layer, and before some of them an attention block whose weights several layers share.

Shared are the weights alone: each of those layers keeps KV of its own. The block attends over the hidden state beside
the embedding, so that its heads are twice hidden / heads wide.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims
from kvplan.checkpoints.elements import Parts, gated_mlp, linear, norm
from kvplan.checkpoints.recurrent import Mamba2, state_in_float32
from kvplan.errors import InputError

MODEL_TYPES = ("zamba2",)
_WORDS = {"mamba": False, "linear_attention": False, "hybrid": True}


def read(config: Config) -> Architecture:
    dims = _dimensions(config)
    words = config.words_by_layer("layers_block_type", dims.layers)
    if words is None:
        raise kv_layers.no_map(config, "layers_block_type")
    full = sum(kv_layers.by_words(config, "layers_block_type", words, _WORDS))
    inner = config.count("intermediate_size", default=4 * dims.hidden)
    mamba, bias = _mamba(config, dims.hidden), config.flag("add_bias_linear")
    layer = mamba.parts(in_bias=bias, out_bias=bias) + norm(dims.hidden)
    blocks = min(config.count("num_mem_blocks", default=1), full)
    body = layer.times(dims.layers) + _block(dims, inner, bias=bias).times(blocks)
    body += (linear(dims.hidden, dims.hidden) + _adapters(config, dims.hidden, inner)).times(full)
    states = mamba.kv(dims.layers, float32=state_in_float32(config))
    kv = kv_layers.present(dims.full_kv[0]._replace(layers=full), states)
    return decoder(dims, body, kv=kv, intermediate_size=inner)


def _dimensions(config: Config) -> Dims:
    """The stated head width is that of the class: twice the hidden width over the heads."""
    heads, hidden = config.count("num_attention_heads"), config.count("hidden_size")
    if 2 * hidden % heads:
        raise InputError(f"{heads} heads don't divide twice a hidden_size of {hidden}", where=config.where)
    return read_dims(config, tied=True)._replace(head=2 * hidden // heads)


def _block(dims: Dims, inner: int, *, bias: bool) -> Parts:
    """Attention from 2·D into D and a gated MLP; norms of 2·D and D."""
    wide, kv_width = 2 * dims.hidden, dims.kv_heads * dims.head
    heads = linear(wide, dims.heads * dims.head) + linear(wide, kv_width) + linear(wide, kv_width)
    out = linear(dims.heads * dims.head, dims.hidden)
    return heads + out + norm(wide) + norm(dims.hidden) + gated_mlp(dims.hidden, inner, bias=bias)


def _adapters(config: Config, hidden: int, inner: int) -> Parts:
    """What each layer adds to the shared weights: low-rank pairs for the MLP, and for attention where switched on."""
    rank = config.count("adapter_rank", default=128)
    pairs = linear(hidden, rank) + linear(rank, 2 * inner)
    if config.flag("use_shared_attention_adapter"):
        pairs += (linear(2 * hidden, rank) + linear(rank, 2 * hidden)).times(3)
    return pairs


def _mamba(config: Config, hidden: int) -> Mamba2:
    heads, inner = config.count("n_mamba_heads", default=8), hidden * config.count("mamba_expand", default=2)
    if inner % heads:
        raise InputError(f"{heads} state heads don't share an inner width of {inner} evenly", where=config.where)
    return Mamba2(
        hidden, heads, inner // heads, config.count("mamba_ngroups", default=1),
        config.count("mamba_d_state", default=64), config.count("mamba_d_conv", default=4),
    )  # fmt: skip
