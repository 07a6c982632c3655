"""What Ollama is told to load -> the model of a catalog, and how its weights are stored."""

from __future__ import annotations

import re

from kvplan.deployments.names.gguf import GgufName, gguf_name, scheme_of
from kvplan.deployments.names.ollama_tags import FAMILIES

_WORD = r"(?!q\d|fp16|bf16|mxfp4|iq\d)[a-z0-9.]+"
_TAG = re.compile(
    r"^(?P<size>latest|scout|maverick|e?\d+(?:\.\d+)?[bm]?(?:x\d+b)?(?:-a\d+b)?)?"
    rf"(?:-?(?P<variant>{_WORD}(?:-{_WORD})*-?))?"
    r"(?:(?:^|-)?(?P<quantization>i?q\d\w*|fp16|bf16|mxfp4))?$",
    re.IGNORECASE,
)
_LONGEST_TAG = 100
_SAME = re.compile(r"^(?:instruct|chat|text|it|it-qat|qat|thinking|2507|v0\.\d|fp16|base|code|python)(?:-|$)")
_OTHER_MODEL = re.compile(r"^(?:instruct-2507|thinking-2507|2507|a3b-instruct-2507|a3b-thinking-2507)")


def ollama_name(text: str) -> GgufName | None:
    """``llama3.1:70b`` or ``qwen3:8b-q4_K_M``; None for a name that the library's table does not have.

    ``hf.co/org/repo:Q8_0`` and paths of GGUF files are read as llama.cpp reads them. A tag without a quantization is
    the family's default one.
    """
    name = text.strip()
    if name.startswith(("hf.co/", "huggingface.co/")) or name.lower().endswith(".gguf"):
        return gguf_name(name)
    name = re.sub(r"^registry\.ollama\.ai/", "", name)
    name = name.removeprefix("library/")
    family_name, _, tag = name.lower().partition(":")
    family, read = FAMILIES.get(family_name), _TAG.match(tag[:_LONGEST_TAG])
    if family is None or read is None or len(tag) > _LONGEST_TAG:
        return None
    label, variant = read["size"] or "latest", (read["variant"] or "").strip("-")
    label = family.sizes[0] if label == "latest" else label
    if label not in family.sizes and label not in family.named:
        return None
    written = read["quantization"] or family.quantization
    model = family.named.get(label) or family.pattern.format(size=label)
    if _OTHER_MODEL.match(variant):
        model = f"{model}-{variant}"
    elif variant and not _SAME.match(variant):
        return None
    exact = bool(read["quantization"]) or not family.quantization
    return GgufName((model,), scheme_of(written), read["quantization"] or "", exact and "qat" not in variant)
