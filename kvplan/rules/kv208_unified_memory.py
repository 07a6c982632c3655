"""KV208: CPU and GPU share one memory, and the engine's share of it, the host's and the load peak do not fit together.

``--gpu-memory-utilization`` is a fraction of all memory there, and a container's limit does not bound what the GPU
takes. What the system keeps was seen at 11 to 20 GiB of 121.7 on two DGX Spark kits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name
from kvplan.rules.host_limit import stated_bytes
from kvplan.rules.host_use import PROCESS
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text, spelled

ID = "KV208"
TITLE = "unified memory holds engine, host and load peak together"
LEVEL = "warn"
FLOOR_FRACTION = Interval(0.03, 0.09, 0.17)
"""Of the memory, what system and other processes hold; source: free memory at start of GB10 kits, 101.3 to 110.4 of
121.7 GiB; the low end is a host that runs nothing else."""
ENGINES = {"vllm", "sglang"}


class Uses(NamedTuple):
    """What the common memory is to hold, in bytes."""

    taken: Interval
    """By the engine, on the GPU."""
    processes: Interval
    checkpoint: float
    """Its pages, at most, while it loads."""


def check(context: Context) -> Iterator[Finding]:
    host = context.host
    if host is None or not host.unified_memory or host.gpu is None:
        return
    uses = _uses(context, host) if engine_name(context) in ENGINES else None
    if uses is not None:
        yield from _together(context, host, uses)
    limit = stated_bytes(context, "memory_limit")
    if limit is not None and limit < host.gpu.hbm_bytes.best:
        yield finding(
            ID, LEVEL, context, ("memory_limit",),
            f"the container's limit of {gib_text(limit)} does not bound what the GPU takes of the common memory",
            figures={"limit_bytes": round(limit)},
            formula="a cgroup counts what processes allocate, not what the GPU driver does",
            remedy="bound the engine itself: --gpu-memory-utilization or --kv-cache-memory-bytes",
        )  # fmt: skip


def _together(context: Context, host: Host, uses: Uses) -> Iterator[Finding]:
    visible = _visible(host)
    floor = FLOOR_FRACTION.scaled(visible.best)
    used = uses.taken.plus(uses.processes).plus(floor)
    peak = used._replace(high=used.high + uses.checkpoint)
    level = "fail" if used.low > visible.high else "warn" if peak.high > visible.best else None
    if level is None:
        return
    room = (visible.best - peak.high + uses.taken.high) / visible.best
    yield finding(
        ID, level, context, ("gpu_memory_utilization", "kv_cache_memory_bytes", "model"),
        f"{gib_text(uses.taken.best)} of the GPU + {gib_span(uses.processes)} of processes + {gib_span(floor)} of the "
        f"system + up to {gib_text(uses.checkpoint)} of page cache at load = {gib_span(peak)}, of "
        f"{gib_text(visible.best)}",
        figures={
            "gpu_bytes": figures_of(uses.taken),
            "processes_bytes": figures_of(uses.processes),
            "floor_bytes": figures_of(floor),
            "used_bytes": figures_of(peak),
            "limit_bytes": figures_of(visible),
        },
        formula="utilization x memory + processes + system + page cache at load <= memory",
        remedy=spelled(context, "gpu_memory_utilization", f"{max(room, 0.1):.2f}"),
    )  # fmt: skip


def _visible(host: Host) -> Interval:
    assert host.gpu is not None
    return host.gpu.hbm_bytes.scaled(host.gpu_share_fraction or 1.0)


def _uses(context: Context, host: Host) -> Uses | None:
    """Of a model that is not known the weights may be as much as the engine takes; a stated fraction bounds that."""
    judged, visible = context.judged, _visible(host)
    fraction = context.number("gpu_memory_utilization") or context.number("mem_fraction_static")
    if judged is None:
        taken = visible.scaled(fraction)
        fixed = not fraction or fraction > 1.0 or context.has("kv_cache_memory_bytes")
        return None if fixed else Uses(taken, PROCESS, taken.best)
    share = judged.share
    if share is None:
        return None
    if share.fixed_pool:
        taken = share.weights.plus(share.overheads).plus(share.pool)
    else:
        taken = visible.scaled(fraction) if fraction else share.budget
    return Uses(taken, judged.frame.situation.policy.engine_dram.bytes, share.weights.best)
