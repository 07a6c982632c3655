"""KV201: what the deployment pins and keeps in host memory is more than the host, or the container, has."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import level_of
from kvplan.rules.host_use import OFFLOADS, HostPart, host_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text, spelled
from kvplan.units import to_gib

ID = "KV201"
TITLE = "host memory is over its budget"
LEVEL = "fail"
_BLAME = (*OFFLOADS, "strategy", "memory_limit", "model")


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None:
        return
    host = judged.deployment.host
    asked = any(context.number(name) for name in OFFLOADS)
    if host.unified_memory:
        if asked:
            message = "CPU and GPU share one pool of memory here: what is offloaded to host memory frees nothing"
            yield finding(ID, "warn", context, _BLAME, message, remedy="leave the offload out")
        return
    parts = host_parts(context, judged)
    used = Interval(0.0, 0.0, 0.0)
    for part in parts:
        used = used.plus(part.bytes)
    if host.dram_bytes is None:
        if asked:
            message = f"{gib_span(used)} of host memory are asked for, and how much {host.name} has is not known"
            yield finding(ID, "unknown", context, _BLAME, message, remedy="dram_gib in a host file")
        return
    limit = host.dram_bytes - host.os_reserve_bytes
    level = level_of(used, Interval.exact(limit)) or ("warn" if asked and used.high > limit else None)
    if level is not None:
        yield _over(context, judged, parts, used, limit, level)


def _over(context: Context, judged: Judged, parts: list[HostPart], used: Interval, limit: float, level: str) -> Finding:
    words = " + ".join(f"{part.words} {gib_text(part.bytes.best)}" for part in parts if part.bytes.best)
    whose = "the container's limit" if context.has("memory_limit") else f"what {judged.deployment.host.name} has for it"
    if used.best <= limit:
        words = f"{words}, with pinned buffers rounded up to powers of two"
    return finding(
        ID, level, context, _BLAME,
        f"{words} = {gib_span(used)} of host memory, and {whose} is {gib_text(limit)}",
        figures={
            "used_bytes": figures_of(used),
            "limit_bytes": round(limit),
            "gpus": judged.deployment.layout.gpus,
            **{f"{part.name}_bytes": figures_of(part.bytes) for part in parts},
        },
        formula="engine processes + whole-server sizes + sizes for each GPU x GPUs <= DRAM - what the system keeps",
        remedy=_remedy(context, parts, used, limit),
    )  # fmt: skip


def _remedy(context: Context, parts: list[HostPart], used: Interval, limit: float) -> str | None:
    """The largest offload that fits at the pessimistic end, else the container limit that would do."""
    for name in ("kv_offloading_size", "cpu_offload_gb", "lmcache_gib_per_rank"):
        asked = context.number(name)
        if not asked:
            continue
        own = next(part.bytes for part in parts if part.name == name)
        others = used.high - own.high
        room = math.floor(asked * max(limit - others, 0.0) / own.high)
        if room > 0 and name != "lmcache_gib_per_rank":
            return spelled(context, name, room)
        if room > 0:
            return f"LMCACHE_MAX_LOCAL_CPU_SIZE={room}"
    if context.has("memory_limit"):
        return f"a memory limit of {math.ceil(to_gib(used.high))}Gi"
    return None
