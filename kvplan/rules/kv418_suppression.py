"""KV418: a suppression that does not hold, for want of a reason, a rule or time, or that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV418"
TITLE = "a suppression does not hold, or is not needed"
LEVEL = "warn"


def check(context: Context) -> Iterator[Finding]:
    """Nothing: suppressions are read when all findings are known."""
    return iter(())


def of_ignore(where: str, message: str, remedy: str) -> Finding:
    """The finding for one comment, annotation or line of a configuration; it belongs to no deployment."""
    return Finding(ID, LEVEL, None, where, message, remedy=remedy)
