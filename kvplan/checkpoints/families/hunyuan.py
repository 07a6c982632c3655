"""Hunyuan: norms on query and key heads; the large model shares KV between neighbouring layers.

Layers share only where ``use_cla`` is on: other files state a ``cla_share_factor`` that means nothing. Expert counts
and widths may be lists with one entry per layer.
"""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, linear, norm
from kvplan.errors import CannotJudge

MODEL_TYPES = ("hunyuan", "hunyuan_v1_dense", "hunyuan_v1_moe")


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    factor = config.count("cla_share_factor", default=1) if config.flag("use_cla") else 1
    owners = -(-dims.layers // factor)
    owning, borrowing = _layers(config, dims)
    body = owning.times(owners) + borrowing.times(dims.layers - owners)
    kv = (dims.full_kv[0]._replace(layers=owners),)
    if config.get("num_experts", "n_routed_experts") in (None, 1):
        dense = gated_mlp(dims.hidden, inner, bias=config.flag("mlp_bias")).times(dims.layers)
        return decoder(dims, body + dense, kv=kv, intermediate_size=inner)
    width = _same(config, "moe_intermediate_size", dims.layers, default=inner)
    shared = inner * _same(config, "num_shared_expert", dims.layers, default=0)
    chosen = _same(config, "moe_topk", dims.layers)
    moe = read_moe(config, dims.layers, inner=width, shared_inner=shared, per_token=chosen)
    return decoder(dims, body + moe.parts(dims.hidden).times(dims.layers), kv=kv, experts=moe.record)


def _layers(config: Config, dims: Dims) -> tuple[Parts, Parts]:
    """A layer without its feed-forward part: one that has its own KV, and one that uses its neighbour's."""
    bias = config.flag("attention_bias")
    norms = norm(dims.hidden, norms=2) + norm(dims.head, norms=2 if config.flag("use_qk_norm") else 0)
    own = attention(dims.sides, qkv_bias=bias, out_bias=bias)
    width = dims.heads * dims.head
    borrowed = linear(dims.hidden, width, bias=bias) + linear(width, dims.hidden, bias=bias)
    return own + norms, borrowed + norms


def _same(config: Config, name: str, layers: int, default: int | None = None) -> int:
    """A number that must be the same in every layer."""
    numbers = set(config.each_layer(name, layers=layers, default=default))
    if len(numbers) > 1:
        raise CannotJudge(
            f"{name} differs from layer to layer, which kvplan does not know how to count", where=config.where
        )
    return numbers.pop()
