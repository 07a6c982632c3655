"""EXAONE 4 and K-EXAONE: three sliding layers for each full one, norms on query and key heads; K-EXAONE is a mixture.

A file without a window (the 1.2B model) states ``sliding_window: null``; one that leaves out both the window and the
layer map is refused, because the class default is wrong for that model.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import attention, gated_mlp, mtp_head, norm
from kvplan.domain.model import KvLayers

MODEL_TYPES = ("exaone4", "exaone_moe")


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + norm(dims.head, norms=2) + norm(dims.hidden, norms=2)
    dense = gated_mlp(dims.hidden, inner)
    kv = _kv(config, dims)
    if config.word("model_type") == "exaone4":
        return decoder(dims, (layer + dense).times(dims.layers), kv=kv, intermediate_size=inner)
    first = min(config.whole("first_k_dense_replace"), dims.layers)
    width = config.count("moe_intermediate_size")
    shared = width * config.whole("num_shared_experts")
    moe = read_moe(config, dims.layers - first, inner=width, shared_inner=shared)
    body = layer.times(dims.layers) + dense.times(first) + moe.parts(dims.hidden, correction=True).times(moe.layers)
    mtp = mtp_head(dims.hidden, layer + dense).times(config.whole("num_nextn_predict_layers"))
    return decoder(dims, body, kv=kv, intermediate_size=inner if first else 0, experts=moe.record, mtp=mtp)


def _kv(config: Config, dims: Dims) -> tuple[KvLayers, ...]:
    if not config.stated("sliding_window"):
        raise config.missing("sliding_window")
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=4)
    return kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
