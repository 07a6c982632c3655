"""KV303: fewer CPU cores than the engine's processes, or the strategy's own work on the CPU, keep busy.

Too few cores for the engine's processes is a WARN: it slows things down, and no hard threshold is published. Where a
strategy attends or searches on the CPU, cores are a budget like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.engines.host_lines import busy_cores
from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import level_of
from kvplan.rules.interface import Finding, finding

ID = "KV303"
TITLE = "CPU cores are over their budget"
LEVEL = "warn"


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None or judged.deployment.host.cpu_cores is None:
        return
    used, own = _used(judged)
    there = judged.deployment.host.cpu_cores
    level = level_of(used, there)
    if level is None:
        return
    if not own:
        level = LEVEL
    limit = context.translated.values.get("cpu_limit")
    half = f": a limit of {limit} logical CPUs, two to a core" if limit is not None else ""
    message = f"{used.best:.3g} CPU cores are kept busy, and the budget is {there.best:.3g}{half}"
    yield finding(
        ID, level, context, ("cpu_limit", "cpu_cores", "strategy", "model"), message,
        figures={
            "used_cores": dict(used._asdict()),
            "limit_cores": there.best,
            "engine_cores": busy_cores(judged.frame.situation.policy.core_lines),
            "gpus": judged.deployment.layout.gpus,
        },
        formula="2 + one for each GPU (vLLM) + the strategy's look-ups and attention <= physical cores",
        remedy=f"a CPU limit of {2 * math.ceil(used.best)}" if context.has("cpu_limit") else "a host with more cores",
    )  # fmt: skip


def _used(judged: Judged) -> tuple[Interval, bool]:
    """Cores in use, and whether the strategy's own work is among them."""
    budget = judged.configured.budgets.get("cpu_cores")
    neighbours = judged.deployment.neighbours
    engine = busy_cores(judged.frame.situation.policy.core_lines) * neighbours.tenants + neighbours.cpu_cores
    if budget is None or budget.used is None:
        return Interval.exact(engine), False
    own = any(part.name in ("look-up", "attention") for part in budget.parts)
    return (budget.used, True) if own else (Interval.exact(engine), False)
