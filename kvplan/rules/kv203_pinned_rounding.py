"""KV203: pinned buffers are rounded up to powers of two, and only so rounded is host memory over its budget.

Whether an engine rounds depends on its version; kvplan says which one it judged. Where the sizes as asked for are over
already, KV201 says that.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import version_words
from kvplan.rules.fitting import level_of
from kvplan.rules.host_limit import host_limit
from kvplan.rules.host_use import OFFLOADS, host_parts, total, total_told
from kvplan.rules.interface import Finding, finding
from kvplan.rules.kv201_host_memory import largest
from kvplan.rules.wording import figures_of, gib_span, gib_text

ID = "KV203"
TITLE = "pinned buffers, rounded up, are over the host's memory"
LEVEL = "warn"


def check(context: Context) -> Iterator[Finding]:
    limit, parts = host_limit(context), host_parts(context)
    rounded = [part for part in parts if part.told_bytes and part.bytes.high > part.told_bytes]
    if limit is None or not rounded or level_of(total_told(parts), Interval.exact(limit.bytes)) is not None:
        return
    used = total(parts)
    level = level_of(used, Interval.exact(limit.bytes)) or (LEVEL if used.high > limit.bytes else None)
    if level is None:
        return
    words = " + ".join(f"{part.words} {gib_text(part.told_bytes)} -> {gib_span(part.bytes)}" for part in rounded)
    likely = {"fail": "", "warn": f" (judged: {version_words(context)})"}[level]
    yield finding(
        ID, level, context, (*OFFLOADS, "memory_limit", "model"),
        f"buffers are pinned one by one, each rounded up to a power of two: {words}; with the engine's processes "
        f"{gib_span(used)}, and {limit.words} is {gib_text(limit.bytes)}{likely}",
        figures={
            "asked_bytes": figures_of(total_told(parts)),
            "used_bytes": figures_of(used),
            "limit_bytes": round(limit.bytes),
            **{f"{part.name}_bytes": figures_of(part.bytes) for part in rounded},
        },
        formula="ranks x buffers x 2^ceil(log2(asked / ranks / buffers)) + engine processes <= limit",
        remedy=largest(context, parts, limit),
    )  # fmt: skip
