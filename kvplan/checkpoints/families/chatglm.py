"""ChatGLM 2 and 3 and the first GLM-4-9B files: their own key names, multi-query groups."""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm
from kvplan.errors import UnknownArchitecture

MODEL_TYPES = ("chatglm",)


def read(config: Config) -> Architecture:
    """ChatGLM 1 has the same model_type and another layout; it is told apart by its missing ``kv_channels``."""
    if config.get("kv_channels") is None or not config.flag("rmsnorm", default=True):
        raise UnknownArchitecture("kvplan knows ChatGLM 2 and later, not this one", where=config.where)
    config = config.with_defaults(vocab_size=config.get("padded_vocab_size"))
    dims = read_dims(config)
    if not config.flag("multi_query_attention"):
        dims = dims._replace(kv_heads=dims.heads)
    inner = config.count("ffn_hidden_size")
    bias = config.flag("add_bias_linear")
    layer = attention(dims.sides, qkv_bias=bias or config.flag("add_qkv_bias"), out_bias=bias)
    layer += gated_mlp(dims.hidden, inner, bias=bias) + norm(dims.hidden, norms=2)
    return decoder(dims, layer.times(dims.layers), intermediate_size=inner)
