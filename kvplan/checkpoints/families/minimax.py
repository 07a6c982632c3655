"""MiniMax-Text-01 and M1: seven layers of lightning attention for each one of softmax attention, all mixtures."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, norm
from kvplan.checkpoints.recurrent import Lightning

MODEL_TYPES = ("minimax", "minimax_text_01", "minimax_m1")


def read(config: Config) -> Architecture:
    """Early files of MiniMax-M2 have this model_type too: softmax attention alone, with norms on queries and keys."""
    dims = read_dims(config.with_defaults(num_key_value_heads=8))
    full = sum(_attends(config, dims.layers))
    lightning = Lightning(dims.hidden, dims.heads, dims.head)
    shared = config.whole("shared_intermediate_size")
    moe = read_moe(config, dims.layers, inner=config.count("intermediate_size"), shared_inner=shared)
    layer = norm(dims.hidden, norms=2) + moe.parts(dims.hidden, correction=config.flag("use_routing_bias"))
    attends = attention(dims.sides)
    attends += norm((dims.heads + dims.kv_heads) * dims.head) if config.flag("use_qk_norm") else Parts()
    body = layer.times(dims.layers) + attends.times(full) + lightning.parts().times(dims.layers - full)
    kv = kv_layers.present(dims.full_kv[0]._replace(layers=full), lightning.kv(dims.layers - full))
    return decoder(dims, body, kv=kv, experts=moe.record)


def _attends(config: Config, layers: int) -> tuple[bool, ...]:
    """``attn_type_list``: 1 is softmax attention, 0 lightning; newer files have ``layer_types``."""
    listed = kv_layers.attends(config, layers, "layer_types")
    if listed is not None:
        return listed
    if config.get("attn_type_list") is None:
        raise kv_layers.no_map(config, "attn_type_list")
    kinds = config.each_layer("attn_type_list", layers=layers)
    if set(kinds) - {0, 1}:
        raise config.wrong("attn_type_list", max(kinds), "must be a list of 0 (lightning) and 1 (softmax)")
    return tuple(kind == 1 for kind in kinds)
