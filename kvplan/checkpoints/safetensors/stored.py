"""True bytes of a checkpoint laid over the model that its config describes.

The config says what the model is, the files what it weighs. Where the two disagree the files are right about bytes,
and the disagreement is said; where they can't belong together (``plausible.py``) they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kvplan.checkpoints.model import MTP_UNTOLD
from kvplan.checkpoints.safetensors.plausible import check_body, check_total
from kvplan.checkpoints.safetensors.shards import Checkpoint
from kvplan.checkpoints.safetensors.tensors import (
    DENSE,
    EMBEDDING,
    EXPERTS,
    HEAD,
    LOOKUP,
    MTP,
    TOWER,
    Amount,
    Tally,
    are_mtp,
)
from kvplan.checkpoints.towers import UNKNOWN
from kvplan.domain.model import Model, StoredWeights
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.units import to_billions, to_gib

MOST_DIFFERENCE: Final = 0.001
"""Text bodies that differ by more are not the same model."""

_DTYPES = {
    "BF16": "bfloat16", "F16": "float16", "F32": "float32", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e4m3fn",
}  # fmt: skip
_NEAREST = {"I8": "int8", "U8": "nvfp4", "F4": "nvfp4", "I32": "gptq-int4"}


def stated_dtype(tally: Tally) -> str | None:
    """The ``torch_dtype`` that the tensors have, for a config that leaves it out."""
    return _DTYPES.get(tally.main_dtype or "")


def nearest_scheme(tally: Tally) -> str:
    """The scheme whose speed is nearest where only the files know how the weights are stored."""
    return _NEAREST.get(tally.main_dtype or "", "fp8" if (tally.main_dtype or "").startswith("F8") else "bf16")


def with_checkpoint(model: Model, checkpoint: Checkpoint) -> Model:
    """The model with what its files say about its weights."""
    model = model._replace(warnings=(*model.warnings, *checkpoint.warnings))
    if checkpoint.tally is not None:
        return _with_tensors(model, checkpoint.tally, checkpoint.files)
    if checkpoint.total_bytes:
        return _with_total(model, checkpoint.total_bytes)
    return model


def _with_tensors(model: Model, tally: Tally, files: int) -> Model:
    parts = tally.parts(model.layers)
    warnings = [text for text in model.warnings if text != UNKNOWN and not text.startswith(MTP_UNTOLD)]
    weights = model.weights
    head = parts[HEAD]
    if head.weights and not weights.lm_head:
        warnings.append(
            f"the files hold the output head again ({_gib(head.total_bytes)}) although it is the embedding:"
            " engines load it once, so it is counted once"
        )
        parts = {**parts, HEAD: Amount(0, 0, head.elements)}
    elif weights.lm_head and not head.weights and parts[EMBEDDING].weights:
        warnings.append("the files hold no output head: the embedding is taken for it")
        weights = weights._replace(lm_head=0)
    body = sum(parts[part].weights for part in (DENSE, LOOKUP, EXPERTS, EMBEDDING, HEAD))
    check_body(model._replace(weights=weights), tally, parts, body)
    warnings += _oddities(model, tally, body)
    if abs(body - weights.text_body) > MOST_DIFFERENCE * weights.text_body:
        warnings.append(_difference(model, body, weights.text_body, towers=parts[TOWER].weights))
    loaded = 1.0
    if tally.main_dtype == "F32" and model.dtype in ("bf16", "fp16"):
        loaded = 0.5
        warnings.append(f"the files hold 32-bit weights, which engines load as {model.dtype}: counted as {model.dtype}")
    stored = StoredWeights(
        dense_bytes=loaded * sum(parts[part].total_bytes for part in (DENSE, LOOKUP, HEAD)),
        routed_expert_bytes=loaded * parts[EXPERTS].total_bytes,
        embedding_bytes=loaded * parts[EMBEDDING].total_bytes,
        mtp_bytes=loaded * parts[MTP].total_bytes,
        tower_bytes=loaded * parts[TOWER].total_bytes,
        lookup_bytes=loaded * parts[LOOKUP].total_bytes,
        elements=sum(amount.elements for amount in parts.values()),
    )
    mtp, towers = parts[MTP].weights, parts[TOWER].weights
    kept, experts = min(weights.mtp_kept, mtp), weights.mtp_experts if mtp == weights.mtp else 0
    weights = weights._replace(mtp=mtp, mtp_kept=kept, mtp_experts=experts, towers=towers)
    return model._replace(
        stored=stored, weights=weights, tower_elements_unknown=False, warnings=tuple(warnings),
        source=f"{model.source}; weights: headers of {files} safetensors file{'s' if files != 1 else ''}",
    )  # fmt: skip


def _oddities(model: Model, tally: Tally, body: int) -> Iterator[str]:
    """Tensors that are counted, and that the config does not explain."""
    beyond = tally.layers_beyond(model.layers)
    if beyond and not are_mtp(beyond, model.layers):
        yield (
            f"the files hold layers up to {beyond[-1]}, and the config describes {model.layers} of them: layers beyond"
            " are counted as weights without KV"
        )
    elif beyond and not model.mtp_kv:
        yield (
            f"the files hold {len(beyond)} more layers than the {model.layers} of the config, which states no MTP"
            " heads: they are counted as such"
        )
    if tally.plain_integers > MOST_DIFFERENCE * body:
        yield (
            f"the files hold {tally.plain_integers:,} integers of 16 bits and more that no quantization of the config"
            " explains: each is counted as a weight"
        )


def _difference(model: Model, found: int, computed: int, *, towers: int) -> str:
    if model.tower_elements_unknown and not towers and found > computed:
        return (
            f"the files hold {to_billions(found - computed):.2f} billion weights beyond the language model, which may"
            " be its tower: they are counted as part of it"
        )
    return (
        f"the files hold a text body of {found:,} weights, and the config describes one of {computed:,}: the bytes are"
        " those of the files"
    )


def _with_total(model: Model, total_bytes: int) -> Model:
    """Parts in the proportions of the config, so that they add up to the stated total.

    Where the config does not describe a tower, what the total has beyond the text is the tower.
    """
    scheme, weights = SCHEMES[model.dtype], model.weights
    kept = scheme.kept_bits / 8
    dense, experts = scheme.bytes_of(weights)
    computed = dense + experts
    check_total(model, total_bytes, computed, kept)
    warnings = [text for text in model.warnings if text != UNKNOWN]
    tower = weights.towers * kept
    if model.tower_elements_unknown and total_bytes > computed:
        tower, computed = total_bytes - computed, float(total_bytes)
        weights = weights._replace(towers=int(tower / kept))
        dense += tower
    scale = total_bytes / computed
    if abs(scale - 1) > MOST_DIFFERENCE:
        warnings.append(f"the stated total is {_gib(total_bytes)}, and the config describes {_gib(computed)}")
    table = weights.embedding * kept
    mtp, mtp_experts = scheme.mtp_bytes(weights)
    stored = StoredWeights(
        dense_bytes=(dense - table - mtp - tower) * scale,
        routed_expert_bytes=(experts - mtp_experts) * scale,
        embedding_bytes=table * scale,
        mtp_bytes=(mtp + mtp_experts) * scale,
        tower_bytes=tower * scale,
        lookup_bytes=weights.lookup * kept * scale,
        elements=weights.total,
    )
    return model._replace(
        stored=stored, weights=weights, tower_elements_unknown=False, warnings=tuple(warnings),
        source=f"{model.source}; weights: the total stated for its files",
    )  # fmt: skip


def _gib(value_bytes: float) -> str:
    return f"{to_gib(value_bytes):.2f} GiB"
