"""Kimi Linear and the text of Kimi K3: three layers of KDA for each one of MLA, leading dense layers, mixtures.

The two layer lists count from 1. K3 has experts on a narrower latent, gates on the output of MLA, and mixes the
residuals of its blocks with two vectors before each half of a layer.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Moe, decoder, read_moe
from kvplan.checkpoints.elements import Parts, gated_mlp, latent_attention, linear, mtp_head, norm, routed_experts
from kvplan.checkpoints.families.deepseek import dimensions, mixtures
from kvplan.checkpoints.recurrent import DeltaAttention
from kvplan.errors import InputError

MODEL_TYPES = ("kimi_linear",)


def read(config: Config) -> Architecture:
    dims, sides = dimensions(config)
    section = _section(config)
    full = _attends(config, section, dims.layers)
    kda = _kda(section, dims.hidden)
    inner, mixed = config.count("intermediate_size"), mixtures(config, dims.layers)
    moe = _read_moe(config, mixed)
    mixture = _mixture(config, dims.hidden, moe)
    attends = latent_attention(sides)
    attends += linear(dims.hidden, dims.heads * sides.value) if config.flag("mla_use_output_gate") else Parts()
    mixing = norm(dims.hidden, norms=2) if config.get("attn_res_block_size") is not None else Parts()
    layer = norm(dims.hidden, norms=2) + mixing.times(2)
    decay = kda.parts(full_rank_gate=section.flag("use_full_rank_gate"), decays=1 << (kda.heads - 1).bit_length())
    body = layer.times(dims.layers) + attends.times(full) + decay.times(dims.layers - full)
    body += gated_mlp(dims.hidden, inner).times(dims.layers - mixed) + mixture.times(mixed)
    heads = config.whole("num_nextn_predict_layers")
    return decoder(
        dims, body, kv=kv_layers.present(*kv_layers.latent(full, sides.cached), kda.kv(dims.layers - full)),
        final_norm=norm(dims.hidden) + mixing, experts=moe.record, latent_sides=sides.sides,
        intermediate_size=inner if mixed < dims.layers else 0,
        mtp=mtp_head(dims.hidden, layer + attends + mixture).times(heads),
        mtp_kv=kv_layers.present(*kv_layers.latent(heads, sides.cached)),
    )  # fmt: skip


def _section(config: Config) -> Config:
    section = config.section("linear_attn_config")
    if section is None:
        raise kv_layers.no_map(config, "linear_attn_config")
    return section


def _attends(config: Config, section: Config, layers: int) -> int:
    """How many layers are MLA. The lists of both kinds must name every layer once between them."""
    listed = kv_layers.attends(config, layers, "layer_types")
    if listed is not None:
        return sum(listed)
    if section.get("full_attn_layers") is None:
        raise kv_layers.no_map(section, "full_attn_layers")
    full = kv_layers.indices(section, "full_attn_layers", layers, first=1)
    rest = kv_layers.indices(section, "kda_layers", layers, first=1)
    if section.get("kda_layers") is not None and (full & rest or len(full) + len(rest) != layers):
        message = f"full_attn_layers and kda_layers must name each of {layers} layers once, counted from 1"
        raise InputError(message, where=config.where)
    return len(full)


def _kda(section: Config, hidden: int) -> DeltaAttention:
    kernel = section.count("short_conv_kernel_size", default=4)
    return DeltaAttention(hidden, section.count("num_heads"), section.count("head_dim"), kernel)


def _read_moe(config: Config, mixed: int) -> Moe:
    width = config.count("moe_intermediate_size")
    return read_moe(config, mixed, inner=width, shared_inner=width * config.whole("num_shared_experts"))


def _mixture(config: Config, hidden: int, moe: Moe) -> Parts:
    """A router with a correction bias; with a latent n, experts of that width, 2·D·n around them and a norm of n."""
    latent = config.optional_count("routed_expert_hidden_size")
    if latent is None:
        return moe.parts(hidden, correction=True)
    experts = routed_experts(latent, moe.inner, moe.experts)
    router = Parts(other=(hidden - latent) * moe.experts + moe.experts)
    ways = linear(hidden, latent) + linear(latent, hidden)
    ways += norm(latent) if config.flag("latent_moe_use_norm") else Parts()
    return experts + router + ways + (gated_mlp(hidden, moe.shared_inner) if moe.shared_inner else Parts())
