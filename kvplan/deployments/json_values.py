"""JSON on a command line: whole values, and values put together from ``--flag.key.inner value``."""

from __future__ import annotations

import json
import re
from typing import Any

from kvplan.errors import InputError
from kvplan.units import parse_vllm_tokens

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT])")
_IN_JSON = re.compile(r"(?<=[\s:\[,])(\d+(?:\.\d+)?)([kmgtKMGT])(?=\s*[,\]}])")
MOST_KEYS = 20


def parse_json(text: str) -> Any:
    """A JSON value; ``{"cpu_bytes_to_use": 80G}`` too. Raises ValueError.

    Numbers with a suffix are vLLM's own spelling: ``80g`` is 80 x 10^9, ``80G`` is 80 x 2^30.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        pass
    try:
        return json.loads(_IN_JSON.sub(lambda match: str(_scaled(match)), text))
    except (InputError, RecursionError) as error:
        raise ValueError("not a number") from error


def add_entry(entries: dict[str, Any], written: str, text: str) -> None:
    """One ``--kv-transfer-config.kv_role kv_both`` into the object that its flag will have.

    ``--flag.list+ a,b`` appends; what is no JSON is a number with a suffix, or text. Source: vLLM's
    FlexibleArgumentParser.
    """
    keys = written.removesuffix("+").split(".")[1 : MOST_KEYS + 1]
    value: Any = text.split(",") if written.endswith("+") else _value(text)
    inner = entries
    for key in keys[:-1]:
        if not isinstance(inner.get(key), dict):
            inner[key] = {}
        inner = inner[key]
    last = keys[-1]
    if isinstance(value, list) and isinstance(inner.get(last), list):
        inner[last] += value
    else:
        inner[last] = value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    match = _SUFFIXED.fullmatch(text.strip())
    try:
        return _scaled(match) if match else text
    except InputError:
        return text


def _scaled(match: re.Match[str]) -> int:
    return parse_vllm_tokens(match[0].strip(), what="a number")
