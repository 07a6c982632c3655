"""Nemotron-H, Nemotron Nano 2 and Nemotron 3: every layer is one mixer alone, Mamba-2, attention, MLP or mixture.

The map is a word of letters (``hybrid_override_pattern``) or a list (``layers_block_type``, in newer files the only
thing that tells the number of layers). Experts of Nemotron 3 Super and Ultra work on a narrower latent.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import LARGEST_LAYERS, Config
from kvplan.checkpoints.decoder import Dims, Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Matrix, Parts, attention, linear, mtp_head, norm, plain_mlp
from kvplan.checkpoints.recurrent import Mamba2, state_in_float32
from kvplan.errors import InputError

MODEL_TYPES = ("nemotron_h",)
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_WORDS = {
    "mamba": "mamba", "linear_attention": "mamba", "attention": "attention", "full_attention": "attention",
    "mlp": "mlp", "moe": "moe",
}  # fmt: skip
_MAMBA = {"mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4}


def read(config: Config) -> Architecture:
    config = config.with_defaults(num_key_value_heads=8, head_dim=128, **_MAMBA)
    kinds = _map(config)
    dims = read_dims(config.with_defaults(num_hidden_layers=len(kinds)))
    if len(kinds) != dims.layers:
        message = f"the layer map has {len(kinds)} layers, but num_hidden_layers is {dims.layers}"
        raise InputError(message, where=config.where)
    heads = config.whole("num_nextn_predict_layers")
    ahead = _ahead(config) if heads else ()
    inner = config.count("intermediate_size") if "mlp" in (*kinds, *ahead) else 0
    moe = _read_moe(config, kinds.count("moe")) if "moe" in (*kinds, *ahead) else None
    mixers = _mixers(config, dims, inner, moe)
    body, one = _layers(kinds, mixers), dims.full_kv[0]
    states = _mamba(config, dims).kv(kinds.count("mamba"), float32=state_in_float32(config, default=True))
    return decoder(
        dims, body, kv=kv_layers.present(one._replace(layers=kinds.count("attention")), states),
        intermediate_size=inner if "mlp" in kinds else 0, experts=moe.record if moe and moe.layers else None,
        mtp=mtp_head(dims.hidden, _layers(ahead, mixers)).times(heads),
        mtp_kv=kv_layers.present(one._replace(layers=heads * ahead.count("attention"))),
    )  # fmt: skip


def _map(config: Config) -> tuple[str, ...]:
    kinds = _listed(config, "layers_block_type", "hybrid_override_pattern")
    if kinds is None:
        raise kv_layers.no_map(config, "hybrid_override_pattern")
    return kinds


def _ahead(config: Config) -> tuple[str, ...]:
    """The mixers of one MTP head; the model class has attention and a mixture."""
    return _listed(config, "mtp_layers_block_type", "mtp_hybrid_override_pattern") or ("attention", "moe")


def _listed(config: Config, list_key: str, letters_key: str) -> tuple[str, ...] | None:
    """The kinds of a list of words, else of a word of letters; None where the file has neither."""
    listed, letters = config.get(list_key), config.word(letters_key)
    if listed is None and letters is None:
        return None
    if listed is None:
        key, words, meanings = letters_key, tuple(letters or ""), _LETTERS
    else:
        count = len(listed) if isinstance(listed, list) else 0
        key, words, meanings = list_key, config.words_by_layer(list_key, count) or (), _WORDS
    if not 1 <= len(words) <= LARGEST_LAYERS:
        raise config.wrong(key, words, f"must name from 1 to {LARGEST_LAYERS} layers")
    return kv_layers.by_words(config, key, words, meanings)


def _layers(kinds: tuple[str, ...], mixers: dict[str, Parts]) -> Parts:
    total = Parts()
    for kind, mixer in mixers.items():
        total += mixer.times(kinds.count(kind))
    return total


def _mixers(config: Config, dims: Dims, inner: int, moe: Moe | None) -> dict[str, Parts]:
    """What one layer of each kind stores, its norm included."""
    bias = config.flag("mlp_bias")
    own = config.flag("use_bias")
    mamba = _mamba(config, dims).parts(
        in_bias=own, out_bias=own, conv_bias=config.flag("use_conv_bias", "mamba_conv_bias", default=True)
    )
    attends = attention(dims.sides, qkv_bias=config.flag("attention_bias"), out_bias=config.flag("attention_bias"))
    mixers = {"mamba": mamba, "attention": attends, "mlp": plain_mlp(dims.hidden, inner, bias=bias)}
    mixers["moe"] = _mixture(config, dims.hidden, moe, bias=bias) if moe else Parts()
    return {kind: parts + norm(dims.hidden) for kind, parts in mixers.items()}


def _mamba(config: Config, dims: Dims) -> Mamba2:
    return Mamba2(
        dims.hidden, config.count("mamba_num_heads"), config.count("mamba_head_dim"),
        config.count("mamba_n_groups", "n_groups"), config.count("ssm_state_size"),
        config.count("mamba_d_conv", "conv_kernel"),
    )  # fmt: skip


def _read_moe(config: Config, layers: int) -> Moe:
    config = config.with_defaults(
        n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=7688, moe_shared_expert_intermediate_size=7688
    )
    shared = config.whole("moe_shared_expert_intermediate_size")
    return read_moe(config, layers, inner=config.count("moe_intermediate_size"), shared_inner=shared)


def _mixture(config: Config, hidden: int, moe: Moe, *, bias: bool) -> Parts:
    """Router D·E, experts without a gate 2·E·n·I, shared expert 2·D·S, and into and out of a latent n 2·D·n.

    Without a latent n is D. The correction bias of the router does not count in the published totals.
    """
    latent = config.optional_count("moe_latent_size")
    width = latent or hidden
    routed = (Matrix(moe.inner, width, moe.experts), Matrix(width, moe.inner, moe.experts))
    ways = linear(hidden, latent, bias=bias) + linear(latent, hidden, bias=bias) if latent else Parts()
    shared = plain_mlp(hidden, moe.shared_inner, bias=bias) if moe.shared_inner else Parts()
    return Parts(routed=routed, other=hidden * moe.experts) + ways + shared
