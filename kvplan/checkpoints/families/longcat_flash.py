"""LongCat Flash: two MLA sub-layers and two dense MLPs in each layer, with one mixture beside them.

Each sub-layer has KV of its own, so that there are twice as many KV layers as layers. Some of the experts do nothing
(``zero_expert_num``): the router knows them, they store nothing. The released checkpoints hold one MTP head, half a
layer with a copy of the embedding, which their files don't state.

Source: transformers 5.24, modeling_longcat_flash; held by the published total.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_moe
from kvplan.checkpoints.elements import Parts, gated_mlp, latent_attention, mtp_head, norm
from kvplan.checkpoints.families import deepseek

MODEL_TYPES = ("longcat_flash",)
_SUBLAYERS = 2


def read(config: Config) -> Architecture:
    dims, sides = deepseek.dimensions(config)
    inner = config.count("ffn_hidden_size")
    moe = read_moe(config, dims.layers, inner=config.count("expert_ffn_hidden_size"))
    idle = config.whole("zero_expert_num")
    half = latent_attention(sides, bias=config.flag("attention_bias")) + norm(dims.hidden, norms=2)
    half += gated_mlp(dims.hidden, inner)
    mixture = moe.parts(dims.hidden, correction=True) + Parts(other=idle * (dims.hidden + 1))
    body = (half.times(_SUBLAYERS) + mixture).times(dims.layers)
    heads = config.whole("num_nextn_predict_layers", default=1)
    return decoder(
        dims, body, kv=kv_layers.latent(_SUBLAYERS * dims.layers, sides.cached), intermediate_size=inner,
        experts=moe.record, mtp=mtp_head(dims.hidden, half).times(heads),
        latent_sides=sides.sides,
        mtp_kv=kv_layers.latent(heads, sides.cached) if heads else (), mtp_copies=dims.vocab * dims.hidden * heads,
    )  # fmt: skip
