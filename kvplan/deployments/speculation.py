"""``--speculative-config``: what drafts tokens, and what that adds to the KV cache.

A model's own MTP layers cache KV only while they draft. Methods without weights (n-grams, suffixes) cache none. What a
draft model of its own takes is not known from its name, and it is said so.
"""

from __future__ import annotations

import json

from kvplan.domain.model import Model
from kvplan.errors import InputError
from kvplan.units import shorten

WEIGHTLESS = frozenset(("ngram", "[ngram]", "suffix", "ngram_gpu"))
_MTP = ("mtp", "nextn")


def draft_method(text: str) -> str:
    """The method that a JSON config names, else its draft model; the text itself where it is no JSON."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip().lower()
    if not isinstance(config, dict):
        raise InputError(f"--speculative-config must be a JSON object (it is {shorten(text)!r})")
    return str(config.get("method") or config.get("model") or "").lower()


def is_mtp(method: str) -> bool:
    """Whether the model's own MTP layers draft: ``mtp``, ``deepseek_mtp``, ``qwen3_next_mtp``, ``nextn`` ..."""
    return method.endswith(_MTP)


def drafts_with_mtp(speculative_config: str | None) -> bool:
    """Whether the model's own MTP layers draft, by the config that is given to the engine."""
    return bool(speculative_config) and is_mtp(draft_method(str(speculative_config)))


def with_drafts(model: Model, speculative_config: str | None) -> Model:
    """The model with the KV of whatever drafts its tokens."""
    if not speculative_config:
        return model
    method = draft_method(speculative_config)
    if method in WEIGHTLESS:
        return model
    if is_mtp(method):
        if not model.mtp_kv:
            text = f"{model.name} has no MTP layers that kvplan knows"
            raise InputError(f"--speculative-config {shorten(method)!r}: {text}")
        return model._replace(kv=(*model.kv, *model.mtp_kv))
    text = f"speculative decoding with {shorten(method)!r}: the draft model's weights and KV are not counted"
    return model._replace(warnings=(*model.warnings, text))
