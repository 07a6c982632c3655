"""KV601: more bytes cross the CPU-GPU link than it carries, at the stated time per token."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding
from kvplan.rules.paces import over_rate

ID = "KV601"
TITLE = "the CPU-GPU link is over its budget"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    return over_rate(context, ID, "link", "the CPU-GPU link")
