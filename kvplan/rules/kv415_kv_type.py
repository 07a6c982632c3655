"""KV415: the GPU has no kernel for this KV type.

A type that some other GPU has is a FAIL; one that kvplan does not know is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported

ID = "KV415"
TITLE = "the GPU has no kernel for this KV type"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    judged = context.judged
    if judged is not None and judged.configured.bound_by == "kernel":
        level = LEVEL if judged.configured.outcome == "no" else "unknown"
        yield finding(ID, level, context, ("strategy", "kv_cache_dtype"), judged.configured.reason)
