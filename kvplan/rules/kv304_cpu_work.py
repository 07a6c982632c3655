"""KV304: a strategy that attends or searches on the CPU needs more cores than there are, at the stated time per token.

It fails only against an objective that the file or the project states; kvplan's default is nobody's promise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.fitting import level_of
from kvplan.rules.interface import Finding, finding
from kvplan.units import to_ms

ID = "KV304"
TITLE = "CPU attention or look-up needs more cores than there are"
LEVEL = "fail"
_OWN_WORK = ("look-up", "attention")


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    budget = judged.configured.budgets.get("cpu_cores") if judged is not None else None
    if judged is None or budget is None or budget.used is None or budget.limit is None:
        return
    work = [part for part in budget.parts if part.name in _OWN_WORK]
    level = level_of(budget.used, Interval.exact(budget.limit)) if work else None
    if level is None:
        return
    stated = context.has("itl_ms")
    pace = f"{to_ms(judged.deployment.objectives.itl_s):g} ms a token"
    why = f"at {pace}" if stated else f"at kvplan's default of {pace}"
    parts = " + ".join(f"{part.name} {part.value:.3g}" for part in budget.parts)
    used = budget.used
    yield finding(
        ID, level if stated else "info", context, ("itl_ms", "cpu_limit", "cpu_cores", "strategy", "model"),
        f"{judged.configured.id} keeps {used.best:.3g} cores busy ({used.low:.3g}..{used.high:.3g}) {why}: {parts}, "
        f"of {budget.limit:.3g}",
        figures={
            "used_cores": dict(used._asdict()),
            "limit_cores": budget.limit,
            **{f"{part.name.replace(' ', '_').replace('-', '_')}_cores": part.value for part in budget.parts},
            "objective_s": judged.deployment.objectives.itl_s,
        },
        formula="; ".join(part.formula for part in work),
        remedy=_remedy(context, used),
    )  # fmt: skip


def _remedy(context: Context, used: Interval) -> str:
    cores = f"{math.ceil(used.high)} cores"
    itl = context.judged.configured.itl_s if context.judged else None
    slower = f", or an objective of itl_ms = {to_ms(itl.high):.0f}" if itl is not None else ""
    return f"{cores}{slower}, fewer users, or another strategy (kvplan fit)"
