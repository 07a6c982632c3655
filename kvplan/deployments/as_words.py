"""A found deployment -> the words of ``kvplan fit``, with its values read as the engine reads them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kvplan.deployments.engine_tokens import parse_engine_tokens
from kvplan.deployments.found import Complaint, FoundDeployment, Setting, Value
from kvplan.deployments.lengths import is_spread
from kvplan.deployments.setting_kinds import KINDS, NUMERIC
from kvplan.deployments.words import AUTO_LENGTHS, Words
from kvplan.errors import InputError
from kvplan.units import parse_tokens, shorten

_QUANTIZATIONS = {
    "fp8": "fp8", "awq": "awq-int4", "awq_marlin": "awq-int4", "gptq": "gptq-int4", "gptq_marlin": "gptq-int4",
    "bitsandbytes": "bnb-nf4", "modelopt_fp4": "nvfp4", "nvfp4": "nvfp4", "mxfp4": "mxfp4", "modelopt": "fp8",
    "fbgemm_fp8": "fp8", "int8": "int8", "fp8_per_tensor": "fp8", "fp8_per_block": "fp8", "w8a8_fp8": "fp8",
    "modelopt_fp8": "fp8", "w8a8_int8": "int8",
}  # fmt: skip
"""vLLM's and SGLang's ``--quantization`` -> the weight scheme that it leads to from a 16-bit checkpoint."""
_BY_LAYERS = ("llama.cpp", "ollama")
"""Engines that spread the layers over all GPUs that they see, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The words, every value by name, and what could not be read."""

    words: Words
    values: dict[str, Value]
    complaints: tuple[Complaint, ...]

    def number(self, name: str) -> float | None:
        """A numeric value, or None."""
        value = self.values.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return bool(self.values.get(name))


def translate(found: FoundDeployment) -> Translated:
    """Typed values of a file's settings. A value of the wrong type is left out and complained of."""
    values: dict[str, Value] = {}
    complaints: list[Complaint] = []
    for name, setting in found.settings.items():
        try:
            values[name] = _value(setting, _engine_name(found))
        except (InputError, ValueError, OverflowError) as error:
            text = error.message if isinstance(error, InputError) else f"{_spelled(name)} can't be {setting.value!r}"
            complaints.append(Complaint(shorten(text, 160), setting.place, stops=True))
    return Translated(_words(found, values), values, tuple(complaints))


def weights_of(quantization: str) -> str | None:
    """The weight scheme that ``--quantization`` stands for, where kvplan knows it."""
    return _QUANTIZATIONS.get(quantization.lower())


def _engine_name(found: FoundDeployment) -> str:
    return found.engine or str(found.value("engine") or "").partition("@")[0]


def _value(setting: Setting, engine: str) -> Value:
    name, value = setting.name, setting.value
    kind = KINDS.get(name, "text")
    if isinstance(value, bool):
        if kind in NUMERIC:
            raise InputError(f"{_spelled(name)} must be a number (it is {str(value).lower()})")
        return value
    if kind in ("count", "whole", "whole or word"):
        return _whole(name, value, kind)
    if kind == "number":
        number = float(str(value))
        if not math.isfinite(number):
            raise InputError(f"{_spelled(name)} must be a finite number (it is {value!r})")
        return number
    if kind == "engine tokens":
        return str(value) if str(value).lower() in AUTO_LENGTHS else parse_engine_tokens(engine, value, _spelled(name))
    if name == "context" and is_spread(str(value)):
        return str(value)
    if kind == "tokens":
        return parse_tokens(str(value), what=name)
    if kind == "switch":
        raise InputError(f"{_spelled(name)} must be true or false (it is {value!r})")
    return value if isinstance(value, tuple) else str(value)


def _count(name: str, value: Value) -> int:
    number = float(str(value))
    if number != int(number) or not 0 <= number < 2**53:
        raise InputError(f"{_spelled(name)} must be a whole number (it is {value!r})")
    return int(number)


def _whole(name: str, value: Value, kind: str) -> Value:
    """A whole number; one that may be negative; or a word instead of it."""
    if kind == "count":
        return _count(name, value)
    if kind == "whole or word" and not re.fullmatch(r"-?\d+", str(value)):
        return str(value).lower()
    number = float(str(value))
    if number != int(number) or abs(number) >= 2**53:
        raise InputError(f"{_spelled(name)} must be a whole number (it is {value!r})")
    return int(number)


def _spelled(name: str) -> str:
    long = {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size"}
    return "--" + long.get(name, name).replace("_", "-")


def _words(found: FoundDeployment, values: dict[str, Value]) -> Words:
    """The values that ``fit`` has a word for.

    Engines with ranks have one of each kind unless told; llama.cpp spreads layers over the GPUs that it sees.
    """
    known = set(Words._fields) - {"catalog", "fetch", "strategies", "ep"}
    given = {name: value for name, value in values.items() if name in known}
    if given.get("max_model_len") in AUTO_LENGTHS:
        del given["max_model_len"]
    strategy = values.get("strategy", ())
    given["strategies"] = strategy if isinstance(strategy, tuple) else (str(strategy),)
    if found.engine:
        given.setdefault("engine", found.engine)
        for name in ("tp", "pp", "dp") if found.engine not in _BY_LAYERS else ():
            given.setdefault(name, 1)
    if "dp_local" in values:
        given["dp"] = values["dp_local"]
    if found.engine == "tensorrt-llm" and "free_gpu_memory_fraction" in values:
        given["gpu_memory_utilization"] = values["free_gpu_memory_fraction"]
    return Words(**given)  # type: ignore[arg-type]
