"""MiniMax M3: grouped attention that reads 16 blocks of 128 tokens in most layers, as an index of one key finds them.

The index key of a sparse layer (``sparse_index_dim`` elements, no value) is kept in the type of the KV cache, on
every rank. Dense layers first. The shipped text checkpoint stores no MTP module, whatever its file states.

Source: transformers 5.24, minimax_m3_vl; text and vision tower together are the published total.
"""

from __future__ import annotations

from functools import partial

from kvplan.checkpoints import families, image_towers, kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, linear, norm
from kvplan.domain.model import KvLayers

MODEL_TYPES = ("minimax_m3", "minimax_m3_text", "minimax_m3_vl", "minimax_m3_vl_text")
_SPARSE = {"minimax_m3_sparse": True, "full_attention": False}
_MIXTURE = {"sparse": True, "dense": False}


def read(config: Config) -> Architecture:
    if config.text() is not config:
        text = families.read_text(config, flat_type="minimax_m3_text")
        projected = config.count("projector_hidden_size", default=6144)
        return towers.with_tower(text, config, partial(image_towers.minimax_m3_vision, projected=projected))
    dims = read_dims(config)
    sparse = _sparse(config, dims.layers)
    index = config.section("sparse_attention_config") or config
    width = index.count("sparse_index_dim", "index_head_dim", default=128)
    heads = index.count("sparse_num_index_heads", "index_n_heads", default=4)
    mixed = _mixtures(config, dims.layers)
    shared = config.whole("shared_intermediate_size") * config.whole("n_shared_experts", default=1)
    moe = read_moe(config, mixed, inner=_expert_width(config), shared_inner=shared)
    dense = config.count("dense_intermediate_size", default=12288)
    layer = attention(dims.sides) + norm(dims.hidden, norms=2)
    layer += norm(dims.head, norms=2) if config.flag("use_qk_norm", default=True) else Parts()
    own = linear(dims.hidden, heads * width) + linear(dims.hidden, width) + norm(width, norms=2)
    body = layer.times(dims.layers) + own.times(sparse) + moe.parts(dims.hidden, correction=True).times(mixed)
    body += gated_mlp(dims.hidden, dense).times(dims.layers - mixed)
    blocks = index.count("sparse_topk_blocks", "index_topk_blocks", default=16)
    read_tokens = blocks * index.count("sparse_block_size", "index_block_size", default=128)
    keys = KvLayers("indexer", sparse, 1, width, 0, replicated=True, index_heads=heads)
    return decoder(
        dims, body, kv=_kv(dims, sparse, read_tokens, keys), experts=moe.record,
        intermediate_size=dense if mixed < dims.layers else 0,
    )  # fmt: skip


def _kv(dims: Dims, sparse: int, read_tokens: int, keys: KvLayers) -> tuple[KvLayers, ...]:
    one = dims.full_kv[0]
    kinds = (one._replace(layers=dims.layers - sparse), one._replace(layers=sparse, read_tokens=read_tokens), keys)
    return tuple(kind for kind in kinds if kind.layers)


def _sparse(config: Config, layers: int) -> int:
    """How many layers read sparsely: by ``sparse_attention_freq``, or by ``layer_types`` in files of transformers 5."""
    words = config.words_by_layer("layer_types", layers)
    if words is not None:
        return sum(kv_layers.by_words(config, "layer_types", words, _SPARSE))
    section = config.section("sparse_attention_config")
    if section is None:
        raise config.missing("sparse_attention_config")
    if not section.flag("use_sparse_attention", default=True):
        return 0
    if not section.stated("sparse_attention_freq"):
        raise section.missing("sparse_attention_freq")
    return sum(number != 0 for number in section.each_layer("sparse_attention_freq", layers=layers))


def _mixtures(config: Config, layers: int) -> int:
    words = config.words_by_layer("mlp_layer_types", layers)
    if words is not None:
        return sum(kv_layers.by_words(config, "mlp_layer_types", words, _MIXTURE))
    return sum(number != 0 for number in config.each_layer("moe_layer_freq", layers=layers, default=1))


def _expert_width(config: Config) -> int:
    return config.count("moe_intermediate_size", "intermediate_size")
