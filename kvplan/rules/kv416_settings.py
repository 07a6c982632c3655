"""KV416: a setting that nobody reads, or that has the wrong type. Flags of other versions are KV403."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, reported

ID = "KV416"
TITLE = "a setting is unknown or malformed"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    return reported(ID, context)
