"""``--speculative-config``: what drafts tokens, and what that adds to the KV cache.

A model's own MTP layers cache KV only while they draft. Methods without weights (n-grams, suffixes) cache none. What a
draft model of its own takes is not known from its name, and it is said so.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from kvplan.domain.deployment import Drafting
from kvplan.domain.model import Model
from kvplan.errors import InputError
from kvplan.units import shorten

WEIGHTLESS = frozenset(("ngram", "[ngram]", "suffix", "ngram_gpu"))
MOST_TOKENS: Final = 64
"""Drafts of published runs have 1 to 16 tokens."""
_MTP = ("mtp", "nextn")
_DRAFT_MODELS = frozenset(
    ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "dflash", "dspark", "standalone", "custom_class",
     "extract_hidden_states")
)  # fmt: skip
_METHOD = re.compile(r"[a-z][a-z0-9_\-]*")
_MODEL_NAME = re.compile(r"(?=.*[/\d])[\w.~][\w.\-]*(/[\w.\-]+)*|/[\w.\-]+(/[\w.\-]+)*")
"""``org/name``, a path, or one word with a digit in it."""
_EXAMPLE = 'e.g. \'{"method": "mtp", "num_speculative_tokens": 1}\''


def drafting_of(text: str | None) -> Drafting | None:
    """What is to draft, checked: a JSON object as vLLM takes it, a method, or the name of a draft model."""
    if not text:
        return None
    config = _config_of(str(text))
    method = _method_of(config, str(text))
    tokens = config.get("num_speculative_tokens")
    if tokens is not None and (type(tokens) is not int or not 1 <= tokens <= MOST_TOKENS):
        limits = f"a whole number from 1 to {MOST_TOKENS}"
        raise InputError(f"num_speculative_tokens must be {limits} (it is {shorten(repr(tokens))})", help=_EXAMPLE)
    return Drafting(method, json.dumps(config), tokens, is_mtp(method))


def draft_method(text: str) -> str:
    """The method that a JSON config names, else its draft model; the text itself where it is no JSON."""
    return _method_of(_config_of(text), text)


def _config_of(text: str) -> dict[str, Any]:
    """The JSON object; a method or a model alone as the object that says the same."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return _named(text)
    if not isinstance(config, dict):
        raise InputError(f"--speculative-config must be a JSON object (it is {shorten(text)!r})", help=_EXAMPLE)
    return config


def _named(text: str) -> dict[str, Any]:
    word = text.strip()
    method = word.lower()
    if method in WEIGHTLESS | _DRAFT_MODELS or (is_mtp(method) and _METHOD.fullmatch(method)):
        return {"method": method.strip("[]")}
    if len(word) <= 256 and _MODEL_NAME.fullmatch(word):
        return {"model": word}
    text = f"--speculative-config {shorten(word)!r} is no JSON object, no method that drafts, and no name of a model"
    raise InputError(text, help=_EXAMPLE)


def _method_of(config: dict[str, Any], text: str) -> str:
    method, model = config.get("method"), config.get("model")
    if method is None and isinstance(model, str) and model.strip():
        return model.strip().lower()
    if model is not None and not isinstance(model, str):
        raise InputError(f"--speculative-config: model must be text (it is {shorten(repr(model))})", help=_EXAMPLE)
    if not isinstance(method, str) or not (method in WEIGHTLESS or _METHOD.fullmatch(method.lower())):
        raise InputError(f"--speculative-config {shorten(text)!r} names no method and no model", help=_EXAMPLE)
    return method.lower()


def is_mtp(method: str) -> bool:
    """Whether the model's own MTP layers draft: ``mtp``, ``deepseek_mtp``, ``qwen3_next_mtp``, ``nextn`` ..."""
    return method.endswith(_MTP) and "/" not in method


def with_drafts(model: Model, speculative_config: str | None) -> Model:
    """The model with the KV of whatever drafts its tokens."""
    drafting = drafting_of(speculative_config)
    if drafting is None or drafting.method in WEIGHTLESS:
        return model
    if drafting.by_mtp:
        if not model.mtp_kv:
            text = f"{model.name} has no MTP layers that kvplan knows"
            raise InputError(f"--speculative-config {shorten(drafting.method)!r}: {text}")
        return model._replace(kv=(*model.kv, *model.mtp_kv))
    text = f"speculative decoding with {shorten(drafting.method)!r}: the draft model's weights and KV are not counted"
    return model._replace(warnings=(*model.warnings, text))
