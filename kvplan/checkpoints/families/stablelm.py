"""StableLM: LayerNorms with biases, biases on queries, keys and values where stated."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm

MODEL_TYPES = ("stablelm",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    norms = 1 if config.flag("use_parallel_residual") else 2
    layer = attention(dims.sides, qkv_bias=config.flag("use_qkv_bias")) + gated_mlp(dims.hidden, inner)
    layer += norm(dims.hidden, norms=norms, bias=True)
    layer += norm((dims.heads + dims.kv_heads) * dims.head) if config.flag("qk_layernorm") else Parts()
    final = norm(dims.hidden, bias=True)
    return decoder(dims, layer.times(dims.layers), final_norm=final, intermediate_size=inner)
