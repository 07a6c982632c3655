"""KV412: a setting could not be resolved.

A variable without a literal value, a model that no catalog has. What does not depend on it is judged all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, reported

ID = "KV412"
TITLE = "a setting could not be resolved"
LEVEL = "unknown"


def check(context: Context) -> Iterator[Finding]:
    return reported(ID, context)
