"""What vLLM holds of the weights beyond an even share of the file: parts that every rank keeps whole, copies, padding.

Held by the "model weights take" lines of start-up logs (tests/truth/vllm_budgets.jsonl).
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment

_WHOLE_TOWERS = ("llama4", "mistral3", "pixtral", "kimi_k25", "kimi_vl")
"""16-bit checkpoints of these keep their vision tower on every tensor-parallel rank."""
_MXFP4_TILE = 256
"""Expert widths are padded to whole tiles: 2880 of gpt-oss becomes 3072."""
_SIXTEEN_BIT = 2.0


def weight_extras(deployment: Deployment) -> float:
    """Bytes on one GPU beside its even share of the checkpoint."""
    return (
        _rotary_table(deployment) + _latent_extras(deployment) + _whole_tower(deployment) + _padded_experts(deployment)
    )


def _rotary_table(deployment: Deployment) -> float:
    """Cosines and sines of every position: positions x head width in 16 bits (Llama-3.1: 0.031 GiB)."""
    model = deployment.model
    sides = model.latent_sides
    width = sides.rope if sides else model.head_elements
    return (model.max_context_tokens or 0) * width * _SIXTEEN_BIT if model.kv else 0.0


def _latent_extras(deployment: Deployment) -> float:
    """MLA: the projections into latents are whole on every rank, and the ones out of them exist in 16 bits as well."""
    model, layout, sides = deployment.model, deployment.layout, deployment.model.latent_sides
    if sides is None:
        return 0.0
    layers = -(-sum(item.layers for item in model.kv if item.kind == "mla") // layout.pp)
    absorbed = model.attention_heads / layout.tp * sides.kv_rank * (sides.nope + sides.value) * _SIXTEEN_BIT
    into = model.hidden_size * (sides.query_rank + sides.kv_rank + sides.rope)
    index = sum(
        (sides.query_rank * item.index_heads * item.key_elements + model.hidden_size * item.key_elements) * item.layers
        for item in model.kv
    )
    dense_bytes = deployment.weight_scheme.dense_bits / 8
    replicated = (into * layers + index / layout.pp) * dense_bytes * (1.0 - 1.0 / layout.tp)
    return layers * absorbed + replicated


def _whole_tower(deployment: Deployment) -> float:
    scheme, model, layout = deployment.weight_scheme, deployment.model, deployment.layout
    if scheme.linear_bits < 16 or model.model_type not in _WHOLE_TOWERS:
        return 0.0
    return model.weights.towers * scheme.kept_bits / 8 * (1.0 - 1.0 / layout.tp) / layout.pp


def _padded_experts(deployment: Deployment) -> float:
    """MXFP4 experts of a width that is no whole number of tiles on one rank."""
    scheme, experts, layout = deployment.weight_scheme, deployment.model.experts, deployment.layout
    if experts is None or scheme.name != "mxfp4":
        return 0.0
    width = experts.intermediate_size // layout.tp
    if width == 0:
        return 0.0  # more ranks than columns: a layout that is refused
    padded = -(-width // _MXFP4_TILE) * _MXFP4_TILE
    return deployment.weight_parts.experts / layout.expert_gpus * (padded / width - 1.0)
