"""What binds a deployment, and how much of that is left: the fullest budget, or the finding furthest over its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvplan.results.fingerprints import margin_of

if TYPE_CHECKING:
    from kvplan.results.check import CheckedDeployment

_OF_DIGIT = {"1": "hbm", "2": "dram_capacity", "3": "cpu_cores", "5": "itl", "6": "link"}
"""The first digit of a rule's id -> the budget that it is about."""


class Binding(NamedTuple):
    """One budget of a deployment."""

    budget: str
    used_fraction: float
    """Need / limit at the best estimates; above one it does not fit."""
    rule: str | None = None
    """Of the finding that says so; None where it is a plain budget."""


def binding_of(item: CheckedDeployment) -> Binding | None:
    """The tightest; None where nothing could be judged. What a file's own findings say goes before the budgets."""
    found = [
        Binding(_OF_DIGIT[finding.rule[2]], margin, finding.rule)
        for finding in item.findings
        if finding.level in ("fail", "warn")
        and finding.rule[2:3] in _OF_DIGIT
        and (margin := margin_of(finding.figures)) is not None
    ]
    judged = item.context.judged
    if judged is not None:
        found += [
            Binding(name, budget.used.best / budget.limit)
            for name, budget in judged.configured.budgets.items()
            if budget.used is not None and budget.limit
        ]
    return max(found, key=lambda one: (one.used_fraction, one.rule or ""), default=None)
