"""DeepSeek V3.2 and GLM-5: MLA whose tokens attend to the ``index_topk`` best ones, as a small index finds them.

The index keeps one key of ``index_head_dim`` elements for each token. From GLM-5.2 on only some layers own an index
(``indexer_types``, or a period), the others reuse what the layer before them found.

Source: the config and modelling files of transformers 5.24.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.elements import Parts, linear, norm
from kvplan.checkpoints.families import deepseek

MODEL_TYPES = ("deepseek_v32", "glm_moe_dsa")
_OWNS = {"full": True, "shared": False}


def read(config: Config) -> Architecture:
    index_heads = 64 if config.word("model_type") == "deepseek_v32" else 32
    config = config.with_defaults(index_topk=2048, index_head_dim=128, index_n_heads=index_heads)
    dims, sides = deepseek.dimensions(config)
    width, heads = config.count("index_head_dim"), config.count("index_n_heads")
    if sides.query_rank is None:
        raise config.missing("q_lora_rank")
    owners = _owners(config, dims.layers)
    index = linear(sides.query_rank, heads * width) + linear(dims.hidden, width) + norm(width, bias=True)
    index += Parts(other=dims.hidden * heads)
    model = deepseek.assemble(config, dims, sides, index=index, indexers=owners)
    keys = kv_layers.index_keys(owners, width, heads)
    read_tokens = config.count("index_topk")
    kv = model.kv[0]._replace(read_tokens=read_tokens)
    mtp_kv = tuple(layers._replace(read_tokens=read_tokens) for layers in model.mtp_kv)
    mtp_keys = tuple(keys._replace(layers=layers.layers) for layers in mtp_kv)
    return model._replace(kv=(kv, keys), mtp_kv=(*mtp_kv, *mtp_keys))


def _owners(config: Config, layers: int) -> int:
    """How many layers own an index: by ``indexer_types``, by a word of F and S, else by a period.

    The first ``index_skip_topk_offset`` layers (2 where it is missing) own one, then every ``index_topk_freq``-th.
    """
    words = config.words_by_layer("indexer_types", layers)
    pattern = config.word("index_topk_pattern") if words is None else None
    if pattern is not None:
        if len(pattern) != layers or set(pattern) - {"F", "S"}:
            raise config.wrong("index_topk_pattern", pattern, f"must be a word of {layers} letters, F or S")
        return pattern.count("F") or _none(config, "index_topk_pattern")
    if words is not None:
        return sum(kv_layers.by_words(config, "indexer_types", words, _OWNS)) or _none(config, "indexer_types")
    every, first = config.count("index_topk_freq", default=1), config.count("index_skip_topk_offset", default=2)
    return sum(max(layer - first + 1, 0) % every == 0 for layer in range(layers))


def _none(config: Config, name: str) -> int:
    raise config.wrong(name, config.get(name), "must give the first layer an index (full)")
