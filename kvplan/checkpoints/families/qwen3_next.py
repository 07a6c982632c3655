"""Qwen3-Next and the text of Qwen 3.5: three gated delta nets for each layer of gated attention, dense or mixtures.

Qwen3-Next stores an MTP head that no key of its file tells, and its Coder model with the same keys stores none: the
head's weights are counted only where a published element count shows them.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, Moe, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, linear, mtp_head, norm
from kvplan.checkpoints.recurrent import DeltaNet, state_in_float32

MODEL_TYPES = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
_NET = {
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip


def read(config: Config) -> Architecture:
    model_type = config.word("model_type")
    older, dense = model_type == "qwen3_next", model_type == "qwen3_5_text"
    config = config.with_defaults(num_key_value_heads=4 if dense else 2, head_dim=256, **_NET)
    dims = read_dims(config)
    full = sum(_attends(config, dims.layers))
    net, attends, norms = _net(config, dims.hidden), _attention(config, dims), norm(dims.hidden, norms=2)
    mixed = 0 if dense else sum(_mixtures(config, dims.layers))
    inner = config.count("intermediate_size") if mixed < dims.layers else 0
    mlp, moe = gated_mlp(dims.hidden, inner), _read_moe(config, mixed) if mixed else None
    mixture = moe.parts(dims.hidden) + Parts(other=dims.hidden if moe.shared_inner else 0) if moe else Parts()
    body = norms.times(dims.layers) + attends.times(full) + net.parts().times(dims.layers - full)
    body += mixture.times(mixed) + mlp.times(dims.layers - mixed)
    states = net.kv(dims.layers - full, float32=state_in_float32(config))
    heads = 1 if older else config.whole("mtp_num_hidden_layers")
    one = dims.full_kv[0]
    return decoder(
        dims, body, kv=kv_layers.present(one._replace(layers=full), states), experts=moe.record if moe else None,
        intermediate_size=inner, mtp=mtp_head(dims.hidden, norms + attends + (mixture if moe else mlp)).times(heads),
        mtp_kv=kv_layers.present(one._replace(layers=heads)), mtp_unstated=older,
    )  # fmt: skip


def _attends(config: Config, layers: int) -> tuple[bool, ...]:
    """Which layers are attention: as ``layer_types`` says, else every ``full_attention_interval``-th, the fourth."""
    listed = kv_layers.attends(config, layers, "layer_types")
    every = config.count("full_attention_interval", default=4)
    return listed or tuple((layer + 1) % every == 0 for layer in range(layers))


def _mixtures(config: Config, layers: int) -> tuple[bool, ...]:
    """Which layers are mixtures: every ``decoder_sparse_step``-th one that ``mlp_only_layers`` does not name."""
    step, thin = config.count("decoder_sparse_step", default=1), set(config.whole_list("mlp_only_layers"))
    return tuple(layer not in thin and (layer + 1) % step == 0 for layer in range(layers))


def _net(config: Config, hidden: int) -> DeltaNet:
    return DeltaNet(
        hidden, config.count("linear_num_key_heads"), config.count("linear_num_value_heads"),
        config.count("linear_key_head_dim"), config.count("linear_value_head_dim"),
        config.count("linear_conv_kernel_dim"),
    )  # fmt: skip


def _attention(config: Config, dims: Dims) -> Parts:
    """Queries come with a gate as wide as they are (D·H·d more), and heads of queries and keys have norms."""
    bias = config.flag("attention_bias")
    gate = linear(dims.hidden, dims.heads * dims.head, bias=bias)
    return attention(dims.sides, qkv_bias=bias, out_bias=bias) + gate + norm(dims.head, norms=2)


def _read_moe(config: Config, mixed: int) -> Moe:
    """The shared expert has a gate of one column, which the caller counts."""
    width = config.count("moe_intermediate_size")
    return read_moe(config, mixed, inner=width, shared_inner=config.whole("shared_expert_intermediate_size"))
