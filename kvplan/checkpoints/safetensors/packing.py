"""How a quantization packs weights into wider integers, told by the config: needed to count weights, never bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvplan.checkpoints.config import NESTED_SECTIONS, QUANTIZATION_SECTIONS


class Packing(NamedTuple):
    """What of a quantization decides how many weights an element of a tensor holds."""

    bits: int | None = None
    """Bits of a weight that is packed into 32-bit integers; None where there are several or it isn't known."""
    method: str = ""
    four_bit_bytes: bool = False
    """Two weights in each byte of a tensor that is called like any other (bitsandbytes, ModelOpt, DeepSeek-V4)."""
    certain: bool = False
    """All packed weights have these bits, so that they are counted exactly; else some may have others."""


_EXACT = frozenset(("gptq", "gptq_marlin", "awq", "awq_marlin"))
_BY_MODULE = ("dynamic", "extra_config")
"""Keys under which GPTQModel and AutoRound give modules bits of their own."""


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
        return Packing(_bits(bits), method, four_bits or (is_float and 4 in bits), _bits(bits) is not None)
    hqq = _table(_table(section, "quant_config"), "weight_quant_params")
    stated = _bits([section.get("bits", section.get("w_bit", hqq.get("nbits", 4)))])
    certain = stated is not None and method in _EXACT and not any(section.get(key) for key in _BY_MODULE)
    return Packing(stated, method, four_bits, certain)


def _word(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key)
    return value if isinstance(value, str) else ""


def _table(section: object, key: str) -> Mapping[str, Any]:
    value = section.get(key) if isinstance(section, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _section(keys: Mapping[str, Any]) -> Mapping[str, Any]:
    """The quantization section; a nested one goes before that of the file."""
    for level in (*(keys.get(name) for name in NESTED_SECTIONS), keys):
        if isinstance(level, Mapping):
            found = next((level[name] for name in QUANTIZATION_SECTIONS if level.get(name)), None)
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
