"""KV102: one request of the longest length that the engine promises does not fit in the KV pool.

Engines refuse to start then. Offloading idle KV does not change it: a running request keeps all its KV on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import request_level, room_for_weights, weights_level
from kvplan.rules.gguf_models import is_llama_server
from kvplan.rules.gpu_share import GpuShare
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import each_gpu, figures_of, gib_span, gib_text, spelled

ID = "KV102"
TITLE = "one request of the longest length does not fit in the KV pool"
LEVEL = "fail"
_SETTING = {"max_model_len": "max_model_len", "model": "the model's own limit", "context": "the workload's context"}


def check(context: Context) -> Iterator[Finding]:
    judged, level = context.judged, request_level(context)
    if judged is None or judged.share is None or judged.length_tokens is None or level is None:
        return
    if weights_level(judged.share) is not None:
        return  # KV101 has said why there is no pool
    share, tokens = judged.share, judged.length_tokens
    need, longest = share.request_bytes(tokens), share.longest()
    likely = "" if level == "fail" else ", at the best estimate"
    if share.flexible:
        likely = "; the CPU takes the layers that do not fit"
    what = "one request" if share.sequences == 1 else f"KV for {share.sequences} slots"
    message = (
        f"{what} of {tokens:,} tokens ({_setting(context, judged)}) needs {gib_text(need.best)} of KV"
        f"{each_gpu(context)}, and the pool is {gib_span(share.pool)}: {longest.best:,.0f} tokens fit{likely}"
    )
    yield finding(
        ID, level, context, ("max_model_len", "context", "model"), message,
        figures={
            "needed_bytes": figures_of(need),
            "pool_bytes": figures_of(share.pool),
            "pool_tokens": share.pool_tokens(),
            "context_tokens": tokens,
            "longest_tokens": figures_of(longest),
            "users": 1,
            "kv_bytes_per_token": round(judged.configured.kv_bytes_per_token or 0.0),
        },
        formula="KV bytes per token x tokens (whole blocks) + windows <= budget - weights - overheads",
        remedy=_remedy(context, judged, share, longest.low),
    )  # fmt: skip


def _setting(context: Context, judged: Judged) -> str:
    """What says how long it is: llama-server's setting counts the tokens of all slots."""
    if judged.length_by == "max_model_len" and context.has("ctx_size"):
        return "ctx_size" if judged.share is None or judged.share.sequences == 1 else "ctx_size / parallel"
    return _SETTING[judged.length_by]


def _remedy(context: Context, judged: Judged, share: GpuShare, safe_tokens: float) -> str | None:
    """The length that fits even at the pessimistic end; half the bytes where that is enough."""
    ways = []
    if safe_tokens > 0:
        ways.append(spelled(context, "max_model_len", int(safe_tokens)))
    need = share.request_bytes(float(judged.length_tokens or 0))
    sixteen_bit = judged.frame.resident_kernel is None and judged.configured.id.count("kv-") == 0
    if sixteen_bit and "fp8" in judged.frame.situation.kernels and need.best / 2 <= share.pool.low:
        ways.append(spelled(context, "kv_cache_dtype", "fp8"))
    if sixteen_bit and is_llama_server(context.found.engine) and need.best * 34 / 64 <= share.pool.low:
        ways.append(spelled(context, "cache_type", "q8_0"))
    return " or ".join(ways) or room_for_weights(context)
