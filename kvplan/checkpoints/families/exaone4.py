"""EXAONE 4, 4.5 and K-EXAONE: three sliding layers for each full one, norms on query and key heads.

K-EXAONE is a mixture, 4.5 has a vision tower; the MTP head has a dense layer with full attention in both.

A file without a window (the 1.2B model) states ``sliding_window: null``; one that leaves out both the window and the
layer map is refused, because the class default is wrong for that model.
"""

from __future__ import annotations

from typing import Any

from kvplan.checkpoints import families, image_towers, kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, mtp_head, norm
from kvplan.domain.model import KvLayers

MODEL_TYPES = ("exaone4", "exaone_moe", "exaone4_5", "exaone4_5_text")


def read(config: Config) -> Architecture:
    if config.word("model_type") == "exaone4_5":
        return towers.with_tower(families.read_text(config, flat_type=None), config, image_towers.exaone4_5_vision)
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + norm(dims.head, norms=2) + norm(dims.hidden, norms=2)
    dense = gated_mlp(dims.hidden, inner)
    heads = config.whole("num_nextn_predict_layers", "_num_mtp_layers")
    speculative: dict[str, Any] = {
        "mtp": mtp_head(dims.hidden, layer + dense).times(heads),
        "mtp_kv": (dims.full_kv[0]._replace(layers=heads),) if heads else (),
    }
    kv = _kv(config, dims, heads)
    if config.word("model_type") != "exaone_moe":
        return decoder(dims, (layer + dense).times(dims.layers), kv=kv, intermediate_size=inner, **speculative)
    first = min(config.whole("first_k_dense_replace"), dims.layers)
    width = config.count("moe_intermediate_size")
    shared = width * config.whole("num_shared_experts")
    moe = read_moe(config, dims.layers - first, inner=width, shared_inner=shared)
    body = layer.times(dims.layers) + dense.times(first) + moe.parts(dims.hidden, correction=True).times(moe.layers)
    return decoder(
        dims, body, kv=kv, intermediate_size=inner if first else 0, experts=moe.record, **speculative
    )  # fmt: skip


def _kv(config: Config, dims: Dims, mtp_layers: int) -> tuple[KvLayers, ...]:
    if not config.stated("sliding_window"):
        raise config.missing("sliding_window")
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=4, mtp_layers=mtp_layers)
    return kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
