"""MiMo V2 Flash: full and sliding layers with KV heads of their own, keys wider than values.

``attention_chunk_size`` of its file means nothing (vLLM drops it too).
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Heads, Parts, attention, gated_mlp, norm
from kvplan.domain.model import KvLayers

MODEL_TYPES = ("mimo_v2_flash",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    slides = [kind == 1 for kind in config.each_layer("hybrid_layer_pattern", layers=dims.layers)]
    if not config.stated("hybrid_layer_pattern"):
        raise config.missing("hybrid_layer_pattern")
    full = dims.sides._replace(value=config.count("v_head_dim", default=dims.head))
    swa = _sliding_sides(config, full)
    sliding = sum(slides)
    mixed = sum(config.each_layer("moe_layer_freq", layers=dims.layers, default=1))
    moe = read_moe(config, mixed, inner=config.count("moe_intermediate_size"))
    inner = config.count("intermediate_size")
    body = attention(full).times(dims.layers - sliding) + attention(swa).times(sliding)
    body += norm(dims.hidden, norms=2).times(dims.layers) + moe.parts(dims.hidden, correction=True).times(mixed)
    body += gated_mlp(dims.hidden, inner).times(dims.layers - mixed)
    body += Parts(other=swa.heads * sliding if config.flag("add_swa_attention_sink_bias", default=True) else 0)
    window = kv_layers.window(config, dims.max_context, "sliding_window", "sliding_window_size")
    kv = (*_kv("full", dims.layers - sliding, full, None), *_kv("sliding", sliding, swa, window))
    dense = inner if mixed < dims.layers else 0
    return decoder(dims, body, kv=kv, intermediate_size=dense, experts=moe.record)


def _sliding_sides(config: Config, full: Heads) -> Heads:
    return Heads(
        full.hidden,
        config.count("swa_num_attention_heads", default=full.heads),
        config.count("swa_num_key_value_heads", default=full.kv_heads),
        config.count("swa_head_dim", default=full.key),
        config.count("swa_v_head_dim", default=full.value),
    )


def _kv(kind: str, layers: int, sides: Heads, window: int | None) -> tuple[KvLayers, ...]:
    return (KvLayers(kind, layers, sides.kv_heads, sides.key, sides.value, window),) if layers else ()
