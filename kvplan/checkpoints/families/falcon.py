"""Falcon: one KV head (7B) or a few (40B, 180B), a plain MLP of four times the hidden width, LayerNorms with biases."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, norm, plain_mlp

MODEL_TYPES = ("falcon",)


def read(config: Config) -> Architecture:
    """The old decoder ignores ``num_kv_heads``: one KV head with ``multi_query``, else one for each head.

    The new one has two LayerNorms a layer, the old one a single one where attention and MLP run in parallel.
    """
    newer = config.flag("new_decoder_architecture")
    dims = read_dims(config, tied=True)
    if not newer:
        dims = dims._replace(kv_heads=1 if config.flag("multi_query", default=True) else dims.heads)
    inner = config.count("ffn_hidden_size", default=4 * dims.hidden)
    bias = config.flag("bias")
    norms = config.count("num_ln_in_parallel_attn", default=2) if newer else 1
    if not newer and not config.flag("parallel_attn", default=True):
        norms = 2
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + plain_mlp(dims.hidden, inner, bias=bias)
    layer += norm(dims.hidden, norms=norms, bias=True)
    final = norm(dims.hidden, bias=True)
    return decoder(dims, layer.times(dims.layers), final_norm=final, intermediate_size=inner)
