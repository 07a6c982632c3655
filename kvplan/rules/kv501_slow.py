"""KV501: it fits, and is slow all the same: the pool holds more requests than prefill feeds in bearable time.

The concurrency that an engine prints is memory alone. Requests of the full length that arrive together wait for each
other's prefill, and decode shares the GPU with it. Source: vLLM issue 20469, "26x concurrency" and 3 tokens/s at 25.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.assess.break_even import first_token_s
from kvplan.assess.frame import plan_ends
from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import request_level, users_level, weights_level
from kvplan.rules.interface import Finding, finding
from kvplan.strategies import find_strategy

ID = "KV501"
TITLE = "it fits, but prefill makes it slow"
LEVEL = "info"
BEARABLE_S = 60.0
"""Time to prefill all that the pool holds at once, above which this is said."""
FEW = 4


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None or judged.share.spills or judged.deployment.host.gpu is None:
        return
    if judged.deployment.host.gpu.flops is None or _is_over(context, judged):
        return
    stated = context.has("users", "context")
    tokens = judged.load_tokens if stated else float(judged.length_tokens or 0)
    if tokens < 1:
        return
    users = judged.deployment.workload.users if context.has("users") else int(judged.share.most_users(tokens).best)
    low, best, high = (first_token_s(plan, tokens, 0.0) for plan in plan_ends(judged.frame, find_strategy("hbm")))
    replicas = judged.deployment.layout.dp
    whole = users / replicas * low
    if users < FEW or whole <= BEARABLE_S:
        return
    each = f"{best:.3g} s ({low:.3g}..{high:.3g})"
    message = (
        f"{users:,} requests of {tokens:,.0f} tokens fit, and prefill of one takes {each}: together "
        f"{users / replicas * best:,.0f} s, in which others wait or decode slowly"
    )
    yield finding(
        ID, LEVEL, context, ("users", "context", "max_model_len", "model"), message,
        figures={
            "users": users,
            "context_tokens": round(tokens),
            "prefill_s": {"low": low, "best": best, "high": high},
            "together_s": users / replicas * best,
        },
        formula="requests that fit / replicas x prefill time of one",
        remedy="fewer at once (max_num_seqs), shorter prompts, reuse of prefixes, or more GPUs",
    )  # fmt: skip


def _is_over(context: Context, judged: Judged) -> bool:
    """Whether it does not fit in the first place."""
    over_weights = judged.share is not None and weights_level(judged.share) is not None
    return over_weights or request_level(context) is not None or users_level(context) is not None
