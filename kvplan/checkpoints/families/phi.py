"""Phi: 3 and 4 are Llama with a window over all layers where one is stated; 1 and 2 have biases and one LayerNorm."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm, plain_mlp

MODEL_TYPES = ("phi3", "phi")


def read(config: Config) -> Architecture:
    return _read_older(config) if config.word("model_type") == "phi" else _read_phi3(config)


def _read_phi3(config: Config) -> Architecture:
    """Phi-3.5 states a window longer than its context: no window at all."""
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    window = kv_layers.window(config, dims.max_context)
    kv = kv_layers.windowed((True,) * dims.layers, window, dims.full_kv[0])
    return decoder(dims, layer.times(dims.layers), kv=kv, intermediate_size=inner)


def _read_older(config: Config) -> Architecture:
    """Biases everywhere, the head included."""
    dims = read_dims(config)
    inner = config.count("intermediate_size")
    layer = attention(dims.sides, qkv_bias=True, out_bias=True) + plain_mlp(dims.hidden, inner, bias=True)
    layer += norm(dims.hidden, bias=True)
    layer += norm(dims.head, norms=2, bias=True) if config.flag("qk_layernorm") else Parts()
    ends = norm(dims.hidden, bias=True) + Parts(other=dims.vocab)
    return decoder(dims, layer.times(dims.layers), final_norm=ends, intermediate_size=inner)
