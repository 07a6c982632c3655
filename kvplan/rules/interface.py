"""What a rule is, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from kvplan.rules.context import Context

LEVELS = ("fail", "warn", "unknown", "info")
"""From worst to mildest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found."""

    rule: str
    level: str
    deployment: str | None
    """None for a file that holds none."""
    where: str
    """``path:line`` of the setting that is to blame."""
    message: str
    figures: dict[str, Any] = field(default_factory=dict)
    """Numbers in SI units, so that a reader can do the arithmetic again."""
    formula: str | None = None
    remedy: str | None = None
    suppressed: str | None = None
    """Why it does not count: the reason that the file gives, or ``baseline``."""


class Rule(Protocol):
    """A module of this folder."""

    ID: str
    TITLE: str
    LEVEL: str
    """The level of its findings where it says nothing else."""

    def check(self, context: Context) -> Iterator[Finding]:
        """The findings for one deployment, in the order in which a person should read them."""
        ...


def finding(rule: str, level: str, context: Context, settings: tuple[str, ...], message: str, **more: Any) -> Finding:
    """A finding at the line of the first of these settings that the file has."""
    return Finding(rule, level, context.found.name, str(context.found.where(*settings)), message, **more)


def reported(rule: str, context: Context) -> Iterator[Finding]:
    """What was already found under this rule while the deployment was looked up."""
    for problem in context.problems:
        if problem.rule == rule:
            yield Finding(
                rule,
                problem.level,
                context.found.name,
                str(problem.place),
                problem.message,
                figures=dict(problem.figures),
                remedy=problem.remedy,
            )
