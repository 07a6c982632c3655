"""What the rules of ``kvplan check`` say about themselves."""

from __future__ import annotations

from typing import NamedTuple


class RuleText(NamedTuple):
    """One rule in words."""

    id: str
    title: str
    text: str
    source: str = ""


def rule_texts() -> dict[str, RuleText]:
    """Every rule by id."""
    return {}
