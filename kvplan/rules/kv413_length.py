"""KV413: a length beyond the model's own limit, or a workload beyond the engine's.

vLLM, SGLang and TensorRT-LLM refuse to start then. llama-server starts: it warns that the training context is exceeded,
and newer builds cap what one request may have.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import LENGTHENING, Context
from kvplan.rules.gguf_models import is_llama_server
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import spelled

ID = "KV413"
TITLE = "the context is beyond the model's limit"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    if context.model is None:
        return
    limit = context.model.max_context_tokens
    length, asked = _whole(context, "max_model_len"), _whole(context, "context")
    if context.lengths is not None:
        asked = context.lengths.longest_tokens
    if limit is not None and not context.has(*LENGTHENING):
        for name, value in (("max_model_len", length), ("context", asked)):
            if value is not None and value > limit:
                message = f"{name} is {value:,} tokens, and {context.model.name} takes {limit:,} at most"
                starts = name == "max_model_len" and is_llama_server(context.found.engine)
                yield finding(
                    ID, "warn" if starts else LEVEL, context, (name,), message,
                    figures={"context_tokens": value, "max_context_tokens": limit},
                    formula=f"{name} <= the model's max_position_embeddings",
                    remedy=spelled(context, name, limit),
                )  # fmt: skip
    if length is not None and asked is not None and asked > length:
        message = f"the workload's context is {asked:,} tokens, and max_model_len is {length:,}"
        yield finding(
            ID, LEVEL, context, ("context",), message,
            figures={"context_tokens": asked, "max_model_len": length},
            formula="context <= max_model_len",
            remedy=spelled(context, "max_model_len", asked),
        )  # fmt: skip


def _whole(context: Context, name: str) -> int | None:
    value = context.translated.values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
