"""Budgets that are rates: they are judged at the pace of a stated objective, and not at all without one."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.fitting import level_of
from kvplan.rules.interface import Finding, finding
from kvplan.units import to_gb_per_s, to_ms


def over_rate(context: Context, rule: str, budget_name: str, what: str) -> Iterator[Finding]:
    """A finding where a rate is over its budget at the stated time per token."""
    level = rate_level(context, budget_name)
    judged = context.judged
    if level is None or judged is None:
        return
    budget = judged.configured.budgets[budget_name]
    if budget.used is None or budget.limit is None:
        return
    parts = " + ".join(f"{part.name} {to_gb_per_s(part.value):.3g}" for part in budget.parts)
    objective = to_ms(judged.deployment.objectives.itl_s)
    message = (
        f"{judged.configured.id} asks for {to_gb_per_s(budget.used.best):.3g} GB/s of {what} at {objective:g} ms "
        f"a token ({parts}), and there are {to_gb_per_s(budget.limit):.3g} GB/s"
    )
    yield finding(
        rule, level, context, ("strategy", "cpu_offload_gb", "itl_ms", "model"), message,
        figures={
            "used_bytes_per_s": dict(budget.used._asdict()),
            "limit_bytes_per_s": budget.limit,
            **{f"{part.name.replace(' ', '_')}_bytes_per_s": part.value for part in budget.parts},
        },
        formula="bytes that cross in a step / time per token <= rate",
        remedy=_slower(context),
    )  # fmt: skip


def rate_level(context: Context, budget_name: str) -> str | None:
    """The level of a rate that is over its budget; None without a stated time per token."""
    judged = context.judged
    if judged is None or not context.has("itl_ms"):
        return None
    budget = judged.configured.budgets.get(budget_name)
    if budget is None or budget.used is None or budget.limit is None:
        return None
    return level_of(budget.used, Interval.exact(budget.limit))


def _slower(context: Context) -> str | None:
    judged = context.judged
    if judged is None or judged.configured.itl_s is None:
        return None
    pace = to_ms(judged.configured.itl_s.high)
    return f"an objective of itl_ms = {pace:.0f}, fewer users, or another strategy (kvplan fit)"
