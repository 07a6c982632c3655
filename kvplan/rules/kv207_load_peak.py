"""KV207: loading needs more host memory than serving: page cache, load buffers, time to pin.

Page cache counts in a container's limit. It can be reclaimed, so that loading gets slow rather than killed, unless the
loader keeps copies of its own: hence a WARN, never a FAIL. Sources: vllm#3035 (28 GB of cache in a limit of 32G),
vllm#28923 (killed while loading), TensorRT-LLM#17773 (12 minutes to pin 700 GB).
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.host_limit import host_limit
from kvplan.rules.host_use import OFFLOADS, host_parts, pinned_parts, total_told
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text
from kvplan.units import gb

ID = "KV207"
TITLE = "loading takes more host memory or time than there is"
LEVEL = "warn"
PIN_BYTES_PER_S = gb(1)
"""700 GB in 12 minutes, TensorRT-LLM#17773."""
LONG_PIN_S = 300.0


def check(context: Context) -> Iterator[Finding]:
    yield from _page_cache(context)
    yield from _pinning(context)


def _page_cache(context: Context) -> Iterator[Finding]:
    judged, limit = context.judged, host_limit(context)
    if judged is None or judged.share is None or limit is None or not limit.container:
        return
    layout, ranks = judged.deployment.layout, ranks_of(context)
    # Every host reads the whole checkpoint: ranks pick their parts of each tensor.
    weights = judged.share.weights.best * layout.tp * layout.pp
    told = total_told(host_parts(context))
    if weights + told.high <= limit.bytes:
        return
    yield finding(
        ID, LEVEL, context, ("memory_limit", "model"),
        f"{gib_text(weights)} of weights go through the page cache at load beside {gib_span(told)} of the engine, "
        f"and {limit.words} is {gib_text(limit.bytes)}: loading is slow, or killed if the loader keeps copies",
        figures={"weight_bytes": round(weights), "resident_bytes": figures_of(told), "limit_bytes": round(limit.bytes),
                 "ranks": ranks.gpus},
        formula="weights of all ranks + host memory of the engine <= limit",
        remedy=f"a memory limit of {gib_text(weights + told.high)}, or a loader that streams past the page cache",
    )  # fmt: skip


def _pinning(context: Context) -> Iterator[Finding]:
    pinned = sum(part.told.best for part in pinned_parts(context))
    duration_s = pinned / PIN_BYTES_PER_S
    if duration_s < LONG_PIN_S:
        return
    yield finding(
        ID, LEVEL, context, OFFLOADS,
        f"pinning {gib_text(pinned)} takes about {duration_s / 60.0:.0f} minutes at start: probes must wait so long",
        figures={"pinned_bytes": round(pinned), "pin_s": round(duration_s)},
        formula="pinned bytes / 1 GB/s",
        remedy="a startup probe that waits, or huge pages",
    )  # fmt: skip
