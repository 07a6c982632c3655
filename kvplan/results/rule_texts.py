"""What the rules of ``kvplan check`` say about themselves: their title, their level, and their module's docstring."""

from __future__ import annotations

from typing import NamedTuple


class RuleText(NamedTuple):
    """One rule in words."""

    id: str
    title: str
    text: str
    level: str


def rule_texts() -> dict[str, RuleText]:
    """Every rule by id."""
    from kvplan.rules import all_rules

    return {
        rule.ID: RuleText(rule.ID, rule.TITLE, _prose(rule.ID, rule.__doc__ or ""), rule.LEVEL)
        for rule in all_rules().values()
    }


def _prose(rule_id: str, docstring: str) -> str:
    """A docstring on one line, without the marks of code and the id that it may begin with."""
    text = " ".join(docstring.replace("``", "").split()).removeprefix(f"{rule_id}: ")
    return text[:1].upper() + text[1:]
