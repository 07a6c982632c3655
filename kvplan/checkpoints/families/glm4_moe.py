"""GLM-4.5 to 4.7, Solar Open and Ling 2 (Bailing): leading dense layers, shared experts; GLM with MTP heads.

GLM-4.5 and 4.7 store copies of the embedding and the head with the MTP layer, GLM-4.6 does not, and no key says so:
the copies are counted unless a published element count shows that they are not there.
"""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, mtp_head, norm

MODEL_TYPES = ("glm4_moe", "glm4v_moe_text", "solar_open", "bailing_moe")


def read(config: Config) -> Architecture:
    model_type = config.word("model_type")
    dims = read_dims(config)
    inner, width = config.count("intermediate_size"), config.count("moe_intermediate_size")
    first = min(config.whole("first_k_dense_replace"), dims.layers)
    shared = width * config.whole("n_shared_experts", "num_shared_experts")
    moe = read_moe(config, dims.layers - first, inner=width, shared_inner=shared)
    bias = config.flag("attention_bias", "use_qkv_bias", default=model_type == "glm4v_moe_text")
    layer = attention(dims.sides, qkv_bias=bias) + norm(dims.hidden, norms=2)
    layer += norm(dims.head, norms=2) if config.flag("use_qk_norm") else Parts()
    mixture = moe.parts(dims.hidden, correction=model_type != "solar_open")
    body = layer.times(dims.layers) + mixture.times(moe.layers) + gated_mlp(dims.hidden, inner).times(first)
    heads = config.whole("num_nextn_predict_layers") if model_type == "glm4_moe" else 0
    return decoder(
        dims, body, experts=moe.record, intermediate_size=inner if first else 0,
        mtp=mtp_head(dims.hidden, layer + mixture).times(heads),
        mtp_kv=(dims.full_kv[0]._replace(layers=heads),) if heads else (),
        mtp_copies=2 * dims.vocab * dims.hidden * heads, copies_unstated=True,
    )  # fmt: skip
