"""GLM-4 (9B and 32B) and ChatGLM 2 and 3: full attention over few KV heads, biases on the way in where stated."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm

MODEL_TYPES = ("glm", "glm4", "glm4v_text")


def read(config: Config) -> Architecture:
    """GLM-4-0414 (``glm4``) has four norms a layer; its vision models always have the biases."""
    model_type = config.word("model_type")
    dims = read_dims(config.with_defaults(num_key_value_heads=2, head_dim=128))
    inner = config.count("intermediate_size")
    bias = model_type == "glm4v_text" or config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias) + gated_mlp(dims.hidden, inner)
    layer += norm(dims.hidden, norms=2 if model_type == "glm" else 4)
    return decoder(dims, layer.times(dims.layers), intermediate_size=inner)
