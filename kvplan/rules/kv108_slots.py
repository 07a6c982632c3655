"""KV108: slots divide the context, so that each request may be shorter than the setting says.

llama-server divides ``--ctx-size`` by ``--parallel`` unless its cache is unified; Ollama multiplies: it allocates
``OLLAMA_NUM_PARALLEL`` times the context. A failure only where the workload is stated and does not fit in a slot.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.gguf_models import is_llama_server
from kvplan.rules.interface import Finding, finding
from kvplan.rules.llama_slots import Slots, slots_of

ID = "KV108"
TITLE = "slots divide the context"
LEVEL = "warn"
_FORMULA = {
    "llama.cpp": "tokens of a slot = ctx-size / parallel",
    "ollama": "KV tokens = context length x OLLAMA_NUM_PARALLEL",
}
_BLAME = ("parallel", "ctx_size", "max_model_len")


def check(context: Context) -> Iterator[Finding]:
    if not is_llama_server(context.found.engine):
        return
    model_tokens = context.model.max_context_tokens if context.model else None
    slots = slots_of(context.found.engine, context.translated, context.host, model_tokens)
    wanted = _stated_tokens(context)
    each = slots.each_tokens
    short = wanted is not None and each is not None and wanted > each
    if slots.reserved == 1 and not short:
        return
    message = _divided(context, slots, model_tokens)
    if short:
        message += f", and the workload's context is {wanted:,}"
    total = each * slots.reserved if each is not None else None
    yield finding(
        ID, "fail" if short else LEVEL, context, _BLAME, message,
        figures={
            "slot_tokens": each or 0,
            "slots": slots.slots,
            "total_tokens": total or 0,
            "wanted_tokens": wanted or 0,
        },
        formula=_FORMULA[context.found.engine],
        remedy=_remedy(context, slots, wanted),
    )  # fmt: skip


def _divided(context: Context, slots: Slots, model_tokens: int | None) -> str:
    each, count = slots.each_tokens, slots.slots
    if context.found.engine == "ollama":
        if each is None:
            return f"OLLAMA_NUM_PARALLEL {count}: KV for {count} times the context is allocated for each model"
        return (
            f"{count} requests of {each:,} tokens at once: KV for {each * count:,} tokens is allocated for each model"
        )
    if each is None:
        longest = f", {model_tokens // count:,} tokens at most" if model_tokens else ""
        return f"{count} slots divide the context that fits: each request has a part of it{longest}"
    if slots.reserved == 1:
        return f"a request may have {each:,} tokens"
    return f"{count} slots divide {each * count:,} tokens: each request has {each:,}"


def _stated_tokens(context: Context) -> int | None:
    """Tokens of the longest request of a workload that somebody stated."""
    if context.lengths is not None:
        return context.lengths.longest_tokens
    stated = context.translated.values.get("context")
    return int(str(stated)) if stated is not None and str(stated).isdigit() else None


def _remedy(context: Context, slots: Slots, wanted: int | None) -> str:
    if context.found.engine == "ollama":
        if wanted is not None and slots.each_tokens is not None and wanted > slots.each_tokens:
            return f"a context length of {wanted}"
        return "OLLAMA_NUM_PARALLEL=1 where one request at a time is enough"
    tokens = wanted or (slots.each_tokens or 0) * slots.slots
    more = f"--ctx-size {tokens * slots.reserved}" if tokens else "a larger --ctx-size"
    if slots.reserved == 1:
        return more
    return (
        f"{more} for {tokens:,} tokens each, or --kv-unified, which lets one request take them all" if tokens else more
    )
