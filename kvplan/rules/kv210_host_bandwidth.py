"""KV210: host memory is read faster than it can be, at the stated time per token."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding
from kvplan.rules.paces import over_rate

ID = "KV210"
TITLE = "host memory bandwidth is over its budget"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    return over_rate(context, ID, "dram_bandwidth", "host memory")
