"""LFM2: gated short convolutions that keep two columns, some attention layers; dense, or a mixture after the first."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, norm
from kvplan.checkpoints.recurrent import ShortConv

MODEL_TYPES = ("lfm2", "lfm2_moe")


def read(config: Config) -> Architecture:
    tied = config.flag("tie_embedding", default=True)
    dims = read_dims(config.with_defaults(num_key_value_heads=8), tied=tied)
    full = sum(_attends(config, dims.layers))
    conv = ShortConv(dims.hidden, config.count("conv_L_cache", default=3))
    moe = _read_moe(config, dims.layers) if config.word("model_type") == "lfm2_moe" else None
    mixed = moe.layers if moe else 0
    inner = _width(config, adjusted=moe is None) if mixed < dims.layers else 0
    body = norm(dims.hidden, norms=2).times(dims.layers)
    body += (attention(dims.sides) + norm(dims.head, norms=2)).times(full)
    body += conv.parts(bias=config.flag("conv_bias")).times(dims.layers - full)
    body += gated_mlp(dims.hidden, inner).times(dims.layers - mixed)
    if moe:
        body += moe.parts(dims.hidden, correction=config.flag("use_expert_bias", default=True)).times(mixed)
    kv = kv_layers.present(dims.full_kv[0]._replace(layers=full), conv.kv(dims.layers - full))
    return decoder(dims, body, kv=kv, intermediate_size=inner, experts=moe.record if mixed and moe else None)


def _attends(config: Config, layers: int) -> tuple[bool, ...]:
    """``layer_types``, or the attention layers by their number from 0."""
    listed = kv_layers.attends(config, layers, "layer_types", recurrent="conv")
    if listed is not None:
        return listed
    if config.get("full_attn_idxs") is None:
        raise kv_layers.no_map(config, "layer_types")
    chosen = kv_layers.indices(config, "full_attn_idxs", layers, first=0)
    return tuple(layer in chosen for layer in range(layers))


def _width(config: Config, *, adjusted: bool) -> int:
    """The MLP's width: two thirds of the stated one, times a factor, up to a multiple, unless the file says not to."""
    stated = config.count("block_ff_dim", "intermediate_size")
    if not adjusted or not config.flag("block_auto_adjust_ff_dim", default=True):
        return stated
    factor, multiple = config.get("block_ffn_dim_multiplier"), config.count("block_multiple_of", default=256)
    if factor is None:
        factor = 1.0
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 1024:
        raise config.wrong("block_ffn_dim_multiplier", factor, "must be from 0 to 1024")
    return max(1, -(-int(factor * (2 * stated // 3)) // multiple)) * multiple


def _read_moe(config: Config, layers: int) -> Moe:
    first = min(config.whole("num_dense_layers", default=2), layers)
    config = config.with_defaults(num_experts=32, num_experts_per_tok=4)
    return read_moe(config, layers - first, inner=config.count("moe_intermediate_size"))
