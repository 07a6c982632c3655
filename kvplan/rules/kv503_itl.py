"""KV503: decoding takes longer for each token than the objective allows.

Without a stated objective a time above 50 ms is an INFO. Where a link or host memory is over its budget at the
objective's pace, that is said instead: it is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.fitting import level_of
from kvplan.rules.interface import Finding, finding
from kvplan.rules.paces import rate_level
from kvplan.units import to_ms

ID = "KV503"
TITLE = "the time per token is over its objective"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.configured.itl_s is None or judged.share is None:
        return
    if rate_level(context, "link") or rate_level(context, "dram_bandwidth"):
        return
    objective, workload, itl = judged.deployment.objectives.itl_s, judged.deployment.workload, judged.configured.itl_s
    level = level_of(itl, Interval.exact(objective))
    if level is None:
        return
    stated = context.has("itl_ms")
    why = "the objective is" if stated else "no objective is stated; kvplan's default is"
    users = f"{workload.users:,} user{'' if workload.users == 1 else 's'} of {judged.load_words}"
    message = (
        f"{judged.configured.id} takes {to_ms(itl.best):.3g} ms a token ({to_ms(itl.low):.3g}..{to_ms(itl.high):.3g}) "
        f"for {users}, and {why} {to_ms(objective):g} ms"
    )
    yield finding(
        ID, level if stated else "info", context, ("itl_ms", "cpu_offload_gb", "strategy", "model"), message,
        figures={
            "itl_s": dict(itl._asdict()),
            "objective_s": objective,
            "users": workload.users,
            "context_tokens": round(judged.load_tokens),
            "workload_stated": context.has("users", "context"),
        },
        formula="; ".join(_formula(context)),
        remedy="fewer users, a shorter context, or another strategy: kvplan fit shows each with its time",
    )  # fmt: skip


def _formula(context: Context) -> tuple[str, ...]:
    from kvplan.strategies import find_strategy

    judged = context.judged
    formulas = find_strategy(judged.configured.id).formula if judged else ()
    return tuple(line for line in formulas if line.startswith("T ")) or formulas
