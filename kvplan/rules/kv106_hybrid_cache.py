"""KV106: with the hybrid KV manager off, every sliding layer is charged as if it kept all tokens.

It is off by its flag, and by itself beside a KV connector that can't work with it: an offload may cost more KV than it
gives (vllm#41830: 38.87 GiB after adding one).
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.model import Model
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text

ID = "KV106"
TITLE = "the hybrid KV manager is off: sliding layers keep every token"
LEVEL = "warn"
WORTH_SAYING = 1.1


def check(context: Context) -> Iterator[Finding]:
    judged, model = context.judged, context.declared_model
    off = context.translated.is_on("disable_hybrid_kv_cache_manager")
    by = context.translated.values.get("hybrid_manager_off_by")
    if judged is None or model is None or not (off or by) or judged.length_tokens is None:
        return
    with_it = _elements(model, judged.length_tokens, windows=True)
    without = _elements(model, judged.length_tokens, windows=False)
    if with_it <= 0.0 or without < WORTH_SAYING * with_it or judged.share is None:
        return
    now = judged.share.kv_bytes(judged.length_tokens).best
    then = now * with_it / without
    why = f"{by} switches it off" if by and not off else "it is switched off"
    yield finding(
        ID, LEVEL, context, ("disable_hybrid_kv_cache_manager", "hybrid_manager_off_by", "kv_transfer_config", "model"),
        f"{why}: one request of {judged.length_tokens:,} tokens takes {gib_text(now)} of KV, with every layer charged "
        f"as full attention, instead of about {gib_text(then)}",
        figures={"kv_bytes": round(now), "kv_bytes_with_windows": round(then), "context_tokens": judged.length_tokens},
        formula="all layers x tokens, instead of full layers x tokens + sliding layers x window",
        remedy="leave the hybrid manager on, or take a connector that works with it",
    )  # fmt: skip


def _elements(model: Model, tokens: int, *, windows: bool) -> float:
    """KV elements of one sequence of this length, as the architecture keeps them or with every layer in full."""
    found = 0.0
    for layers in model.kv:
        if layers.state is None:
            window = layers.window_tokens if windows and layers.window_tokens else tokens
            kept = min(tokens, window) / layers.tokens_per_entry
            found += layers.layers * layers.elements_per_token * kept
    return found
