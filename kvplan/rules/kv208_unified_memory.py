"""KV208: CPU and GPU share one memory, and the engine's share of it, the host's and the load peak do not fit together.

``--gpu-memory-utilization`` is a fraction of all memory there, and a container's limit does not bound what the GPU
takes. What the system keeps was seen at 11 to 20 GiB of 121.7 on two DGX Spark kits.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context, Judged
from kvplan.rules.host_limit import stated_bytes
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text, spelled

ID = "KV208"
TITLE = "unified memory holds engine, host and load peak together"
LEVEL = "warn"
FLOOR_FRACTION = Interval(0.03, 0.09, 0.17)
"""Of the memory, what system and other processes hold; source: free memory at start of GB10 kits, 101.3 to 110.4 of
121.7 GiB; the low end is a host that runs nothing else."""
ENGINES = {"vllm", "sglang"}


def check(context: Context) -> Iterator[Finding]:
    judged, host = context.judged, context.host
    if judged is None or host is None or not host.unified_memory or host.gpu is None:
        return
    if judged.deployment.engine.name in ENGINES and judged.share is not None:
        yield from _together(context, judged)
    limit = stated_bytes(context, "memory_limit")
    if limit is not None and limit < host.gpu.hbm_bytes.best:
        yield finding(
            ID, LEVEL, context, ("memory_limit",),
            f"the container's limit of {gib_text(limit)} does not bound what the GPU takes of the common memory",
            figures={"limit_bytes": round(limit)},
            formula="a cgroup counts what processes allocate, not what the GPU driver does",
            remedy="bound the engine itself: --gpu-memory-utilization or --kv-cache-memory-bytes",
        )  # fmt: skip


def _together(context: Context, judged: Judged) -> Iterator[Finding]:
    share, host = judged.share, judged.deployment.host
    assert share is not None and host.gpu is not None
    visible = host.gpu.hbm_bytes.scaled(host.gpu_share_fraction or 1.0)
    taken = _taken(context, judged, visible)
    processes = judged.frame.situation.policy.engine_dram.bytes
    floor = FLOOR_FRACTION.scaled(visible.best)
    used = taken.plus(processes).plus(floor)
    peak = used._replace(high=used.high + share.weights.best)
    level = "fail" if used.low > visible.high else "warn" if peak.high > visible.best else None
    if level is None:
        return
    room = (visible.best - peak.high + taken.high) / visible.best
    yield finding(
        ID, level, context, ("gpu_memory_utilization", "kv_cache_memory_bytes", "model"),
        f"{gib_text(taken.best)} of the GPU + {gib_span(processes)} of processes + {gib_span(floor)} of the system "
        f"+ up to {gib_text(share.weights.best)} of page cache at load = {gib_span(peak)}, of {gib_text(visible.best)}",
        figures={
            "gpu_bytes": figures_of(taken),
            "processes_bytes": figures_of(processes),
            "floor_bytes": figures_of(floor),
            "used_bytes": figures_of(peak),
            "limit_bytes": figures_of(visible),
        },
        formula="utilization x memory + processes + system + page cache at load <= memory",
        remedy=spelled(context, "gpu_memory_utilization", f"{max(room, 0.1):.2f}"),
    )  # fmt: skip


def _taken(context: Context, judged: Judged, visible: Interval) -> Interval:
    share = judged.share
    assert share is not None
    if share.fixed_pool:
        return share.weights.plus(share.overheads).plus(share.pool)
    fraction = context.number("gpu_memory_utilization") or context.number("mem_fraction_static")
    return visible.scaled(fraction) if fraction else share.budget
