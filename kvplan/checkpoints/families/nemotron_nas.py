"""Nemotron Super and Ultra (Llama pruned by search): each layer has, replaces or skips its attention and its MLP.

``block_configs`` says it layer by layer: ``no_op``, ``replace_with_linear`` (one matrix D·D), or the query heads
that share one KV head (``n_heads_in_group``) and the width of the MLP (``ffn_mult``).

Source: the modelling code that ships with the models, as vLLM's nemotron_nas reads it; held by the published totals.
"""

from __future__ import annotations

from collections import Counter

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, linear, norm
from kvplan.domain.model import KvLayers
from kvplan.errors import InputError, UnknownArchitecture

MODEL_TYPES = ("nemotron-nas",)
LAYER_KEYS = ("block_configs",)
_OTHER_ATTENTION = ("window_length", "num_sink_tokens", "sparsify", "llama4", "mamba", "moe")
_WIDTH_MULTIPLE = 256
"""The width of an MLP is rounded up to it."""


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    kv_heads: Counter[int] = Counter()
    body, widest = Parts(), 0
    for block in config.sections("block_configs", layers=dims.layers):
        own, parts = _attention(block, dims)
        width, more = _feed_forward(block, dims)
        kv_heads[own] += 1
        widest = max(widest, width)
        body += parts + more
    kv = tuple(
        KvLayers("full", layers, heads, dims.head, dims.head) for heads, layers in sorted(kv_heads.items()) if heads
    )  # fmt: skip
    return decoder(dims, body, kv=kv, intermediate_size=widest)


def _attention(block: Config, dims: Dims) -> tuple[int, Parts]:
    """(KV heads, elements) of one layer's attention; no KV heads where it has none."""
    part = _part(block, "attention")
    if part.flag("no_op"):
        return 0, Parts()
    if part.flag("replace_with_linear"):
        return 0, linear(dims.hidden, dims.hidden) + norm(dims.hidden)
    kv_heads = part.optional_count("num_key_value_heads")
    group = dims.heads // kv_heads if kv_heads else part.count("n_heads_in_group")
    kv_heads = kv_heads or dims.heads // group
    if group * kv_heads != dims.heads:
        raise InputError(
            f"{dims.heads} attention heads don't divide into the groups of block_configs", where=block.where
        )
    return kv_heads, attention(dims.sides._replace(kv_heads=kv_heads)) + norm(dims.hidden)


def _feed_forward(block: Config, dims: Dims) -> tuple[int, Parts]:
    """(width, elements) of one layer's MLP: 2/3 of ffn_mult times the hidden width, rounded up to 256."""
    part = _part(block, "ffn")
    if part.flag("no_op"):
        return 0, Parts()
    if part.flag("replace_with_linear"):
        return 0, linear(dims.hidden, dims.hidden) + norm(dims.hidden)
    width = part.optional_count("intermediate_size")
    if width is None:
        factor = part.get("ffn_mult")
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 2**10:
            raise part.wrong("ffn_mult", factor, "must be a number above 0")
        width = -(-int(2 * factor * dims.hidden / 3) // _WIDTH_MULTIPLE) * _WIDTH_MULTIPLE
    return width, gated_mlp(dims.hidden, width) + norm(dims.hidden)


def _part(block: Config, name: str) -> Config:
    part = block.section(name)
    if part is None:
        raise block.missing(name)
    for key in _OTHER_ATTENTION:
        if part.get(key):
            raise UnknownArchitecture(
                f"block_configs sets {key}, which changes the KV cache in a way that kvplan does not know",
                where=block.where,
            )  # fmt: skip
    return part
