"""KV418: a suppression without a reason, which therefore does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV418"
TITLE = "a suppression gives no reason"
LEVEL = "warn"


def check(context: Context) -> Iterator[Finding]:
    """Nothing: suppressions are read when all findings are known."""
    return iter(())


def of_comment(deployment: str, where: str, rule: str) -> Finding:
    """The finding for one comment."""
    message = f"the comment that ignores {rule} gives no reason, so it does not hold"
    return Finding(ID, LEVEL, deployment, where, message, remedy=f"# kvplan: ignore {rule} why it may stay")
