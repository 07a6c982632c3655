"""KV414: the engine version is not given or not modelled.

Defaults change with the version, so an image tag is an input. Without one the newest modelled version is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, reported

ID = "KV414"
TITLE = "the engine version is not given or not modelled"
LEVEL = "info"


def check(context: Context) -> Iterator[Finding]:
    return reported(ID, context)
