"""A count of tokens or bytes as one engine's own parser reads it."""

from __future__ import annotations

import re

from kvplan.deployments.found import Value
from kvplan.errors import InputError
from kvplan.units import parse_vllm_tokens, shorten

_SGLANG = re.compile(r"(\d+(?:\.\d+)?)(k|M|G|T|Ki|Mi|Gi|Ti)?")
_AS_VLLM_HAS_IT = {"Ki": "K", "Mi": "M", "Gi": "G", "Ti": "T", "k": "k", "M": "m", "G": "g", "T": "t"}


def parse_engine_tokens(engine: str, value: Value, flag: str) -> int:
    """A whole number. vLLM: ``1k`` = 1000, ``1K`` = 1024; SGLang: ``1k`` = 1000, ``1Ki`` = 1024; TensorRT-LLM: plain.

    Source: human_readable_int of vLLM and of SGLang 0.5.23; click's int in TensorRT-LLM's serve.py.
    """
    text = str(value).strip()
    if engine == "sglang":
        match = _SGLANG.fullmatch(text)
        if match is None:
            raise InputError(f"{flag} must look like 32768, 32k (32000) or 32Ki (32768) (it is {shorten(text)!r})")
        text = match[1] + _AS_VLLM_HAS_IT.get(match[2] or "", "")
    elif engine == "tensorrt-llm" and not re.fullmatch(r"\d+", text):
        raise InputError(f"{flag} must be a plain whole number (it is {shorten(text)!r})")
    return parse_vllm_tokens(text, what=flag)
