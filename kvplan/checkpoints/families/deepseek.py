"""DeepSeek V2 and V3 and the models built as they are: MLA, leading dense layers, shared experts, MTP heads.

All heads share one latent of kv_lora_rank + qk_rope_head_dim elements per token and layer; ``num_key_value_heads``
and ``head_dim`` of these files mean nothing for the cache.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Latent, Parts, gated_mlp, latent_attention, mtp_head, norm
from kvplan.errors import UnknownArchitecture

MODEL_TYPES = ("deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe_lite", "mistral4")
_CORRECTED = ("deepseek_v3", "kimi_k2", "glm4_moe_lite", "deepseek_v32", "glm_moe_dsa")
"""Types whose router has a correction bias."""
_STORES_COPIES = ("deepseek_v3", "glm4_moe_lite", "deepseek_v32")
"""Types whose checkpoints store the embedding and the head again with each MTP head."""
_NONE = Parts()


def read(config: Config) -> Architecture:
    if config.get("index_topk") is not None:
        message = "index_topk: this model_type has no sparse-attention index, so its KV layout is not certain"
        raise UnknownArchitecture(message, where=config.where)
    return assemble(config, *dimensions(config))


def assemble(config: Config, dims: Dims, sides: Latent, *, index: Parts = _NONE, indexers: int = 0) -> Architecture:
    """The whole model; ``index`` is one sparse-attention index, which ``indexers`` layers and each MTP head have."""
    model_type = config.word("model_type")
    inner = config.count("intermediate_size")
    mixed = mixtures(config, dims.layers)
    width = config.count("moe_intermediate_size")
    moe = read_moe(config, mixed, inner=width, shared_inner=width * config.whole("n_shared_experts"))
    layer = latent_attention(sides, bias=config.flag("attention_bias")) + norm(dims.hidden, norms=2)
    mixture = moe.parts(dims.hidden, correction=model_type in _CORRECTED)
    body = layer.times(dims.layers) + mixture.times(mixed) + gated_mlp(dims.hidden, inner).times(dims.layers - mixed)
    body += index.times(indexers)
    heads = config.whole("num_nextn_predict_layers")
    return decoder(
        dims, body, kv=kv_layers.latent(dims.layers, sides.cached), experts=moe.record, latent_sides=sides.sides,
        intermediate_size=inner if mixed < dims.layers else 0,
        mtp=mtp_head(dims.hidden, layer + index + mixture).times(heads),
        mtp_kv=kv_layers.latent(heads, sides.cached) if heads else (),
        mtp_copies=2 * dims.vocab * dims.hidden * heads if model_type in _STORES_COPIES else 0,
    )  # fmt: skip


def dimensions(config: Config) -> tuple[Dims, Latent]:
    nope, rope = config.count("qk_nope_head_dim"), config.count("qk_rope_head_dim")
    dims = read_dims(config, latent_head=nope + rope)
    sides = Latent(
        dims.hidden, dims.heads, config.optional_count("q_lora_rank"), config.count("kv_lora_rank"), nope, rope,
        config.count("v_head_dim"),
    )  # fmt: skip
    return dims, sides


def mixtures(config: Config, layers: int) -> int:
    """How many layers are mixtures: those that ``mlp_layer_types`` calls sparse, else from ``first_k_dense_replace``
    on every ``moe_layer_freq``-th.
    """
    words = config.words_by_layer("mlp_layer_types", layers)
    if words is not None:
        return sum(kv_layers.by_words(config, "mlp_layer_types", words, {"dense": False, "sparse": True}))
    first, every = config.whole("first_k_dense_replace"), config.count("moe_layer_freq", default=1)
    return sum(layer >= first and layer % every == 0 for layer in range(layers))
