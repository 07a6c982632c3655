"""Qwen's mixtures: Qwen2-MoE with a gated shared expert and biases, Qwen3-MoE with head norms and no shared expert."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm

MODEL_TYPES = ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text")


def read(config: Config) -> Architecture:
    older = config.word("model_type") == "qwen2_moe"
    config = config.with_defaults(num_key_value_heads=16 if older else 4)
    dims = read_dims(config)
    mixed = sum(_mixtures(config, dims.layers))
    shared = config.whole("shared_expert_intermediate_size") if older else 0
    moe = read_moe(config, mixed, inner=config.count("moe_intermediate_size"), shared_inner=shared)
    mixture = moe.parts(dims.hidden) + Parts(other=dims.hidden if shared else 0)
    dense = dims.layers - mixed
    inner = config.count("intermediate_size") if dense else 0
    bias = older or config.flag("attention_bias")
    layer = attention(dims.sides, qkv_bias=bias, out_bias=bias and not older) + norm(dims.hidden, norms=2)
    layer += Parts() if older else norm(dims.head, norms=2)
    body = layer.times(dims.layers) + mixture.times(mixed) + gated_mlp(dims.hidden, inner).times(dense)
    kv = kv_layers.switched_window(config, dims.full_kv[0], dims.max_context)
    return decoder(dims, body, kv=kv, intermediate_size=inner, experts=moe.record)


def _mixtures(config: Config, layers: int) -> list[bool]:
    """Which layers are mixtures: every ``decoder_sparse_step``-th one that ``mlp_only_layers`` does not name."""
    step = config.count("decoder_sparse_step", default=1)
    dense = set(config.whole_list("mlp_only_layers"))
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(layers)]
