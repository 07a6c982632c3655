"""KV411: the GPU or the host is not known.

Most committed files do not name the GPU. Nothing is guessed then: the finding says what to give. A label gives the GPU
alone; figures of the host are asked for only where the verdict depends on them: with a strategy or an objective that
somebody stated. How much host memory there is, is asked by KV201.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported

ID = "KV411"
TITLE = "the GPU or the host is not known"
LEVEL = "unknown"


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    judged = context.judged
    if judged is None or judged.configured.outcome != "unknown" or judged.configured.bound_by == "kernel":
        return
    if context.has("strategy", "itl_ms", "ttft_ms"):
        remedy = "give what is missing in a host file (kvplan host show NAME)"
        yield finding(ID, LEVEL, context, ("host", "strategy"), judged.configured.reason, remedy=remedy)
