"""True bytes of a checkpoint laid over the model that its config describes.

The config says what the model is, the files what it weighs. Where the two disagree the files are right about bytes,
and the disagreement is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvplan.checkpoints.shards import Checkpoint
from kvplan.checkpoints.tensors import DENSE, EMBEDDING, EXPERTS, HEAD, LOOKUP, MTP, TOWER, Amount, Packing, Tally
from kvplan.checkpoints.towers import UNKNOWN
from kvplan.domain.model import Model, StoredWeights
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.units import to_billions, to_gib

MOST_DIFFERENCE: Final = 0.001
"""Text bodies that differ by more are not the same model."""

_SECTIONS = ("text_config", "llm_config", "language_config", "thinker_config")
_DTYPES = {
    "BF16": "bfloat16", "F16": "float16", "F32": "float32", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e4m3fn",
}  # fmt: skip
_NEAREST = {"I8": "int8", "U8": "nvfp4", "F4": "nvfp4", "I32": "gptq-int4"}


def packing_of(keys: Mapping[str, Any]) -> Packing:
    """How packed weights are to be counted. What the config has wrong is told elsewhere, so here it is skipped."""
    section = _section(keys)
    if not section:
        return Packing(four_bit_bytes=_expert_dtype(keys) == "fp4")
    method = (_word(section, "quant_method") or _word(section, "quant_algo")).lower()
    algorithm = _word(section, "quant_algo").upper()
    four_bits = section.get("load_in_4bit") is True or "FP4" in algorithm or algorithm == "MIXED_PRECISION"
    four_bits = four_bits or _expert_dtype(keys) == "fp4"
    groups = _table(section, "config_groups").values()
    weights = [_table(group, "weights") for group in groups if _table(group, "weights")]
    if weights:
        is_float = any(item.get("type") == "float" for item in weights)
        bits = [item.get("num_bits") for item in weights]
        method = ("nvfp4" if 4 in bits else "fp8") if is_float else "int-pack"
        return Packing(_bits(bits), method, four_bits or (is_float and 4 in bits))
    hqq = _table(_table(section, "quant_config"), "weight_quant_params")
    return Packing(_bits([section.get("bits", section.get("w_bit", hqq.get("nbits", 4)))]), method, four_bits)


def _word(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key)
    return value if isinstance(value, str) else ""


def _table(section: object, key: str) -> Mapping[str, Any]:
    value = section.get(key) if isinstance(section, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _section(keys: Mapping[str, Any]) -> Mapping[str, Any]:
    for level in (*(keys.get(name) for name in _SECTIONS), keys):
        if isinstance(level, Mapping):
            found = level.get("quantization_config") or level.get("compression_config")
            if isinstance(found, Mapping):
                return found
    return {}


def _expert_dtype(keys: Mapping[str, Any]) -> object:
    text = keys.get("text_config")
    return (text.get("expert_dtype") if isinstance(text, Mapping) else None) or keys.get("expert_dtype")


def _bits(stated: list[Any]) -> int | None:
    """The number of bits, where there is one."""
    first = stated[0]
    return first if type(first) is int and 1 <= first <= 32 and all(bits == first for bits in stated) else None


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
    warnings = [text for text in model.warnings if text != UNKNOWN]
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
    warnings = [text for text in model.warnings if text != UNKNOWN]
    tower = weights.towers * kept
    if model.tower_elements_unknown and total_bytes > computed:
        tower, computed = total_bytes - computed, float(total_bytes)
        weights = weights._replace(towers=int(tower / kept))
        dense += tower
    scale = total_bytes / computed
    if abs(scale - 1) > MOST_DIFFERENCE:
        warnings.append(f"the stated total is {_gib(total_bytes)}, and the config describes {_gib(computed)}")
    table, mtp = weights.embedding * kept, scheme.mtp_bytes(weights)
    stored = StoredWeights(
        dense_bytes=(dense - table - mtp - tower) * scale,
        routed_expert_bytes=experts * scale,
        embedding_bytes=table * scale,
        mtp_bytes=mtp * scale,
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
