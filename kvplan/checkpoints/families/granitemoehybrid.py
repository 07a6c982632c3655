"""Granite 4 and Bamba: Mamba-2 and attention layers, each with an MLP; Granite with a mixture beside it, or not.

Granite 4 files without any Mamba layer exist. ``num_local_experts`` of 0 leaves the shared MLP alone.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm
from kvplan.checkpoints.recurrent import Mamba2, read_mamba2, state_in_float32

MODEL_TYPES = ("granitemoehybrid", "bamba")


def read(config: Config) -> Architecture:
    bamba = config.word("model_type") == "bamba"
    dims = read_dims(config.with_defaults(num_key_value_heads=8) if bamba else config)
    full = sum(_indices(config, dims.layers) if bamba else _attends(config, dims.layers))
    inner = config.count("intermediate_size" if bamba else "shared_intermediate_size", default=None if bamba else 1024)
    moe = None if bamba else _read_moe(config, dims.layers)
    bias = config.flag("attention_bias")
    layer = norm(dims.hidden, norms=2) + gated_mlp(dims.hidden, inner, bias=bamba and config.flag("mlp_bias"))
    layer += moe.parts(dims.hidden) if moe else Parts()
    body = layer.times(dims.layers) + attention(dims.sides, qkv_bias=bias, out_bias=bias).times(full)
    kv = kv_layers.present(dims.full_kv[0]._replace(layers=full))
    if full < dims.layers:
        mamba, own = _mamba(config, dims), config.flag("mamba_proj_bias")
        conv_bias = config.flag("mamba_conv_bias", default=True)
        body += mamba.parts(in_bias=own, out_bias=own, conv_bias=conv_bias).times(dims.layers - full)
        kv += (mamba.kv(dims.layers - full, float32=state_in_float32(config)),)
    return decoder(dims, body, kv=kv, intermediate_size=0 if moe else inner, experts=moe.record if moe else None)


def _attends(config: Config, layers: int) -> tuple[bool, ...]:
    listed = kv_layers.attends(config, layers, "layer_types", "layers_block_type")
    if listed is None:
        raise kv_layers.no_map(config, "layer_types")
    return listed


def _indices(config: Config, layers: int) -> tuple[bool, ...]:
    """Bamba lists the layers that are attention, from 0."""
    if config.get("attn_layer_indices") is None:
        raise kv_layers.no_map(config, "attn_layer_indices")
    chosen = kv_layers.indices(config, "attn_layer_indices", layers, first=0)
    return tuple(layer in chosen for layer in range(layers))


def _mamba(config: Config, dims: Dims) -> Mamba2:
    return read_mamba2(config, dims.hidden, dims.hidden * config.count("mamba_expand", default=2))


def _read_moe(config: Config, layers: int) -> Moe | None:
    config = config.with_defaults(num_local_experts=8, num_experts_per_tok=2)
    if not config.whole("num_local_experts"):
        return None
    return read_moe(config, layers, inner=config.count("intermediate_size"))
