"""KV107: the users that the workload states do not fit in the KV pool at once.

A failure only against a workload that somebody stated: ``max_num_seqs`` is a ceiling, and more requests than the pool
holds are normal in production. A written ceiling with next to no tokens for each sequence is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.fitting import request_level, users_level, weights_level
from kvplan.rules.gpu_share import MOST_TOKENS
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import each_gpu, figures_of, gib_span, gib_text, spelled

ID = "KV107"
TITLE = "the workload's users do not fit in the KV pool"
LEVEL = "fail"
FEW_TOKENS = 384
"""Of a sequence, below which a ceiling can't be meant: prompt and answer of a chat are longer. Source: tandemn-system
issue 11, where 301 tokens were there for each of 256: 72 ran, 480 preemptions, a minute to the first token."""


def check(context: Context) -> Iterator[Finding]:
    yield from _thin(context)
    judged, level = context.judged, users_level(context)
    if judged is None or judged.share is None or level is None or weights_level(judged.share) is not None:
        return
    workload, share = judged.deployment.workload, judged.share
    if workload.users == 1 and workload.context_tokens == judged.length_tokens and request_level(context) is not None:
        return  # the same request, said by KV102
    need = share.kv_bytes(judged.load_tokens, workload.users)
    most = share.most_users(judged.load_tokens)
    replicas = judged.deployment.layout.dp
    over = f" over {replicas} replicas" if replicas > 1 else ""
    likely = "" if level == "fail" else ", at the best estimate"
    message = (
        f"{workload.users:,} users of {judged.load_words}{over} need {gib_text(need.best)} of KV"
        f"{each_gpu(context)}, and the pool is {gib_span(share.pool)}: {most.best:,.0f} users fit{likely}"
    )
    yield finding(
        ID, level, context, ("users", "context", "model"), message,
        figures={
            "needed_bytes": figures_of(need),
            "pool_bytes": figures_of(share.pool),
            "users": workload.users,
            "users_max": figures_of(most),
            "context_tokens": round(judged.load_tokens),
            "strategy": judged.configured.id,
        },
        formula="users on the fullest replica x KV bytes of one sequence <= KV pool",
        remedy=_remedy(context, int(most.low)),
    )  # fmt: skip


def _thin(context: Context) -> Iterator[Finding]:
    """Without a workload: a ceiling that somebody wrote, at which each sequence could have hardly any tokens."""
    judged, ceiling = context.judged, context.number("max_num_seqs")
    if judged is None or judged.share is None or not ceiling or context.has("users", "context"):
        return
    if weights_level(judged.share) is not None or request_level(context) is not None or judged.share.spills:
        return
    tokens = judged.share.pool_tokens()
    if tokens is None or judged.share.longest().high >= MOST_TOKENS or tokens >= ceiling * FEW_TOKENS:
        return
    longest = judged.length_tokens or FEW_TOKENS
    fits = max(int(tokens // min(longest, FEW_TOKENS)), 1)
    message = (
        f"max_num_seqs {ceiling:,.0f}, and the pool is {tokens:,} tokens, {tokens / ceiling:,.0f} for each: with "
        "longer requests sequences are preempted and computed again"
    )
    yield finding(
        ID, "warn", context, ("max_num_seqs", "model"), message,
        figures={"pool_tokens": tokens, "max_num_seqs": round(ceiling), "tokens_each": round(tokens / ceiling)},
        formula=f"pool tokens / max_num_seqs >= {FEW_TOKENS}",
        remedy=f"{spelled(context, 'max_num_seqs', fits)}, or state the workload",
    )  # fmt: skip


def _remedy(context: Context, users: int) -> str | None:
    """Fewer users, or a strategy of the same assessment that would hold them."""
    judged = context.judged
    if judged is None:
        return None
    share = judged.share
    workload = judged.deployment.workload
    ways = [f"users = {users}"] if users > 0 else []
    sixteen_bit = judged.frame.resident_kernel is None and "kv-" not in judged.configured.id
    if share is not None and sixteen_bit and "fp8" in judged.frame.situation.kernels:
        if share.kv_bytes(judged.load_tokens, workload.users).best / 2 <= share.pool.low:
            ways.append(spelled(context, "kv_cache_dtype", "fp8"))
    model, host = judged.deployment.model, judged.deployment.host
    named = model.catalog_name or model.name
    ways.append(f"kvplan fit --model {named} --host {host.name} --context {workload.context_tokens} "
                f"--users {workload.users} shows what would hold them")  # fmt: skip
    return " or ".join(ways[:2]) if len(ways) > 1 else ways[0]
