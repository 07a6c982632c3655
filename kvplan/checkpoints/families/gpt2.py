"""The older decoders: LayerNorms with biases, plain MLPs of four times the width, one KV head for each head.

GPT-2, GPT-NeoX (Pythia), OPT, BLOOM, MPT; GPT-BigCode (StarCoder) has one KV head for all, StarCoder 2 grouped ones
and a window.

Source: the modelling files of transformers 5.24; held by published totals.
"""

from __future__ import annotations

from collections.abc import Callable

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, norm, plain_mlp
from kvplan.errors import UnknownArchitecture

MODEL_TYPES = ("gpt2", "gpt_bigcode", "gpt_neox", "opt", "bloom", "mpt", "starcoder2")


def read(config: Config) -> Architecture:
    return _READERS[str(config.word("model_type"))](config)


def _model(dims: Dims, inner: int, *, positions: int = 0, before: int = 0, bias: bool = True) -> Architecture:
    """Biases in every matrix and norm; ``positions`` are learned ones, of which a token reads a single row."""
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias) + plain_mlp(dims.hidden, inner, bias=bias)
    layer += norm(dims.hidden, norms=2, bias=bias)
    table = positions * dims.hidden
    body = layer.times(dims.layers) + Parts(other=table + before)
    ends = norm(dims.hidden, bias=bias)
    return decoder(dims, body, final_norm=ends, intermediate_size=inner, lookup=table)


def _gpt2(config: Config) -> Architecture:
    dims = read_dims(config, tied=True)
    return _model(dims, config.count("n_inner", default=4 * dims.hidden), positions=_positions(config))


def _bigcode(config: Config) -> Architecture:
    dims = read_dims(config, tied=True)
    dims = dims._replace(kv_heads=1 if config.flag("multi_query", default=True) else dims.heads)
    return _model(dims, config.count("n_inner", default=4 * dims.hidden), positions=_positions(config))


def _neox(config: Config) -> Architecture:
    if not config.flag("attention_bias", default=True):
        raise UnknownArchitecture("kvplan knows GPT-NeoX with attention biases only", where=config.where)
    return _model(read_dims(config), config.count("intermediate_size"))


def _opt(config: Config) -> Architecture:
    """Two more positions than the longest sequence; the 350M model has an embedding of another width: not known."""
    dims = read_dims(config, tied=True)
    usual = config.flag("do_layer_norm_before", default=True) and config.flag("enable_bias", default=True)
    if config.count("word_embed_proj_dim", default=dims.hidden) != dims.hidden or not usual:
        raise UnknownArchitecture("kvplan does not know OPT with norms after or a narrow embedding", where=config.where)
    return _model(dims, config.count("ffn_dim"), positions=_positions(config) + 2)


def _bloom(config: Config) -> Architecture:
    dims = read_dims(config, tied=True)
    return _model(dims, 4 * dims.hidden, before=norm(dims.hidden, bias=True).total)


def _mpt(config: Config) -> Architecture:
    """No biases at all; ``attn_config`` may give it fewer KV heads."""
    heads = config.section("attn_config")
    if heads is not None and heads.count("kv_n_heads", default=config.count("n_heads")) != config.count("n_heads"):
        raise UnknownArchitecture("kvplan knows MPT with one KV head for each head only", where=config.where)
    dims = read_dims(config, tied=True)
    return _model(dims, dims.hidden * config.count("expansion_ratio", default=4), bias=False)


def _starcoder2(config: Config) -> Architecture:
    dims = read_dims(config.with_defaults(num_key_value_heads=2), tied=True)
    if not config.flag("use_bias", default=True):
        raise UnknownArchitecture("kvplan knows StarCoder 2 with biases only", where=config.where)
    slides = kv_layers.slides_by_type(config, dims.layers) or (True,) * dims.layers
    kv = kv_layers.windowed(slides, kv_layers.window(config, dims.max_context), dims.full_kv[0])
    return _model(dims, config.count("intermediate_size"))._replace(kv=kv)


def _positions(config: Config) -> int:
    return config.count("n_positions", "max_position_embeddings")


_READERS: dict[str, Callable[[Config], Architecture]] = {
    "gpt2": _gpt2, "gpt_bigcode": _bigcode, "gpt_neox": _neox, "opt": _opt, "bloom": _bloom, "mpt": _mpt,
    "starcoder2": _starcoder2,
}  # fmt: skip
