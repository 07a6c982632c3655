"""How engines are told to draft tokens (speculative decoding), and what is said where they are not."""

from __future__ import annotations

import json

from kvplan.domain.deployment import Deployment, Drafting
from kvplan.engines.interface import quoted

_NEEDS_TOKENS = "num_speculative_tokens is not given: vLLM starts without it only where the draft's own config has one"


def vllm_draft_flags(deployment: Deployment) -> list[str]:
    """The JSON object as it was given."""
    drafting = deployment.settings.drafting
    return [] if drafting is None else [f"--speculative-config {quoted(drafting.config)}"]


def sglang_draft_flags(deployment: Deployment) -> list[str]:
    """A chain of drafts by the model's own MTP layers (``NEXTN``) or by n-grams; other methods have no line here.

    The draft tokens that are verified are those of the steps and the one before them.
    """
    drafting = deployment.settings.drafting
    if drafting is None or not _sglang_is_told(drafting):
        return []
    tokens = drafting.tokens or 1
    if not drafting.by_mtp:
        return ["--speculative-algorithm NGRAM", f"--speculative-num-draft-tokens {tokens + 1}"]
    steps = f"--speculative-num-steps {tokens} --speculative-eagle-topk 1"
    return ["--speculative-algorithm NEXTN", steps, f"--speculative-num-draft-tokens {tokens + 1}"]


def _sglang_is_told(drafting: Drafting) -> bool:
    return drafting.by_mtp or drafting.method == "ngram"


def draft_warnings(deployment: Deployment) -> tuple[str, ...]:
    """What is not modelled of drafting, and whether the engine's line starts it at all."""
    drafting, name = deployment.settings.drafting, deployment.engine.name
    if drafting is None:
        return ()
    found = ["the speed-up of speculative decoding is not modelled: times are those of one token a step"]
    if name == "sglang" and _sglang_is_told(drafting) and drafting.tokens is None:
        found.append("num_speculative_tokens is not given: the command drafts 1")
    elif name == "vllm" and "num_speculative_tokens" not in json.loads(drafting.config):
        found.append(_NEEDS_TOKENS)
    elif name not in ("vllm", "sglang", "generic") or (name == "sglang" and not _sglang_is_told(drafting)):
        counted = "; the KV of its drafts is counted all the same" if drafting.by_mtp else ""
        return (f"the command does not tell {name} to draft ({drafting.method}){counted}",)
    return tuple(found)
