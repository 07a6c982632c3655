"""Jamba: one attention layer in a period of Mamba-1 layers, every second feed-forward a mixture."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm
from kvplan.checkpoints.recurrent import Mamba1, state_in_float32

MODEL_TYPES = ("jamba",)


def read(config: Config) -> Architecture:
    """With ``num_experts`` of 1 (Jamba 3B) every feed-forward is dense."""
    dims = read_dims(config.with_defaults(num_key_value_heads=8))
    inner = config.count("intermediate_size")
    for key in ("attn_layer_period", "attn_layer_offset"):
        if config.get(key) is None:
            raise kv_layers.no_map(config, key)
    full = _hits(config, "attn_layer", dims.layers)
    config = config.with_defaults(expert_layer_period=2, expert_layer_offset=1, num_experts=16, num_experts_per_tok=2)
    mixed = _hits(config, "expert_layer", dims.layers) if config.count("num_experts", "num_local_experts") > 1 else 0
    moe = read_moe(config, mixed, inner=inner) if mixed else None
    mamba = _mamba(config, dims.hidden)
    own, conv_bias = config.flag("mamba_proj_bias"), config.flag("mamba_conv_bias", default=True)
    body = norm(dims.hidden, norms=2).times(dims.layers) + attention(dims.sides).times(full)
    body += mamba.parts(norms=True, bias=own, conv_bias=conv_bias).times(dims.layers - full)
    body += gated_mlp(dims.hidden, inner).times(dims.layers - mixed)
    body += moe.parts(dims.hidden).times(mixed) if moe else Parts()
    states = mamba.kv(dims.layers - full, float32=state_in_float32(config))
    return decoder(
        dims, body, kv=kv_layers.present(dims.full_kv[0]._replace(layers=full), states),
        intermediate_size=inner if mixed < dims.layers else 0, experts=moe.record if moe else None,
    )  # fmt: skip


def _hits(config: Config, stem: str, layers: int) -> int:
    """How many layers are at the offset of their period."""
    period, offset = config.count(f"{stem}_period"), config.whole(f"{stem}_offset")
    if offset >= period:
        raise config.wrong(f"{stem}_offset", offset, f"must be less than {stem}_period")
    return sum(layer % period == offset for layer in range(layers))


def _mamba(config: Config, hidden: int) -> Mamba1:
    """``mamba_dt_rank`` may be the word "auto": a sixteenth of the hidden width, rounded up."""
    automatic = config.get("mamba_dt_rank") in (None, "auto")
    rank = -(-hidden // 16) if automatic else config.count("mamba_dt_rank")
    inner = hidden * config.count("mamba_expand", default=2)
    state, kernel = config.count("mamba_d_state", default=16), config.count("mamba_d_conv", default=4)
    return Mamba1(hidden, inner, state, kernel, rank)
