"""KV201: what the deployment pins and keeps in host memory is more than the host, or the container, has."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.fitting import level_of
from kvplan.rules.host_caches import host_tiers
from kvplan.rules.host_limit import HostLimit, host_limit
from kvplan.rules.host_use import OFFLOADS, PER_RANK, HostPart, host_parts, total, total_told
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text, spelled
from kvplan.units import to_gib

ID = "KV201"
TITLE = "host memory is over its budget"
LEVEL = "fail"
MOST_PINNED_FRACTION = 0.75
"""Of a limit: pinned memory can't be reclaimed, and page cache, Python and the loader need the rest."""
_BLAME = (*OFFLOADS, "strategy", "memory_limit", "model")


def check(context: Context) -> Iterator[Finding]:
    yield from _tiers(context)
    yield from _sizes(context)


def _tiers(context: Context) -> Iterator[Finding]:
    """A tier that sizes itself on every rank: where nothing says what else a host does, half of it is for that."""
    limit = host_limit(context)
    if limit is None:
        return
    for tier in host_tiers(context):
        others = context.judged.deployment.neighbours.dram_bytes if context.judged is not None else 0.0
        stated = limit.container or others > 0.0
        room = limit.bytes - others if stated else limit.bytes / 2
        level = "fail" if tier.low_bytes > room else "warn" if tier.high_bytes > room else None
        whose = limit.words if stated else f"half of {limit.words}"
        if level is not None:
            yield finding(
                ID, level, context, (tier.setting, "tp", "memory_limit"),
                f"{tier.words} = {gib_text(tier.low_bytes)} to {gib_text(tier.high_bytes)}, and {whose}"
                f"{' less what others hold' if others else ''} is {gib_text(max(room, 0.0))}",
                figures={"low_bytes": round(tier.low_bytes), "high_bytes": round(tier.high_bytes),
                         "limit_bytes": round(room)},
                formula="ranks x share of the host that the manager takes <= limit",
                remedy=f"host_cache_size: {max(int(0.75 * room / tier.copies), 0)} (bytes for each rank)",
            )  # fmt: skip


def _sizes(context: Context) -> Iterator[Finding]:
    parts = host_parts(context)
    asked = [part for part in parts if part.name in OFFLOADS]
    if context.host is not None and context.host.unified_memory:
        if asked:
            message = "CPU and GPU share one pool of memory here: what is offloaded to host memory frees nothing"
            yield finding(ID, "warn", context, _BLAME, message, remedy="leave the offload out")
        return
    limit = host_limit(context)
    used = total_told(parts)
    if limit is None:
        if asked and context.host is None:
            yield from _multiplied(context, asked)
        elif asked and context.host is not None:
            message = f"{gib_span(used)} of host memory are asked for, and what {context.host.name} has is not known"
            yield finding(ID, "unknown", context, _BLAME, message, remedy="dram_gib in a host file, or a memory limit")
        return
    level = level_of(used, Interval.exact(limit.bytes))
    if level is not None and (asked or context.judged is not None):
        yield _over(context, parts, used, limit, level)
    elif level is None and _is_nearly(parts, asked, limit):
        yield _nearly(context, asked, limit)


def _multiplied(context: Context, asked: list[HostPart]) -> Iterator[Finding]:
    """Sizes for each rank come out larger than they read; whether that is too much, neither limit nor host says."""
    ranks = ranks_of(context)
    each = [part for part in asked if part.name in PER_RANK and part.told_bytes]
    if ranks.on_a_host == 1 or not each or not ranks.known:
        return
    used = sum(part.told_bytes for part in each)
    yield finding(
        ID, "warn", context, _BLAME,
        f"{words_of(each)} of host memory: the size is for each rank, and neither a memory limit nor a host says "
        "whether there is so much",
        figures={"used_bytes": round(used), "ranks": ranks.on_a_host},
        formula="sizes for each rank x ranks <= host memory",
        remedy=f"a memory limit above {gib_text(used)}, or --host NAME",
    )  # fmt: skip


def _is_nearly(parts: list[HostPart], asked: list[HostPart], limit: HostLimit) -> bool:
    """Most of the limit is pinned; where rounding may take it over the limit, KV203 says that instead."""
    return sum(part.told.best for part in asked) > MOST_PINNED_FRACTION * limit.bytes >= 0 and (
        total(parts).high <= limit.bytes
    )


def words_of(parts: list[HostPart]) -> str:
    """``engine processes 3.0 GiB + lmcache_gib_per_rank x 4 ranks 800.0 GiB``."""
    return " + ".join(f"{part.words} {gib_text(part.told.best)}" for part in parts if part.told.best)


def _over(context: Context, parts: list[HostPart], used: Interval, limit: HostLimit, level: str) -> Finding:
    likely = "" if level == "fail" else ", at the best estimate"
    return finding(
        ID, level, context, _BLAME,
        f"{words_of(parts)} = {gib_span(used)} of host memory, and {limit.words} is {gib_text(limit.bytes)}{likely}",
        figures={
            "used_bytes": figures_of(used),
            "limit_bytes": round(limit.bytes),
            "gpus": ranks_of(context).gpus,
            **{f"{part.name}_bytes": figures_of(part.told) for part in parts},
        },
        formula="engine processes + whole-server sizes + sizes for each rank x ranks <= limit",
        remedy=largest(context, parts, limit),
    )  # fmt: skip


def _nearly(context: Context, asked: list[HostPart], limit: HostLimit) -> Finding:
    pinned = sum(part.told.best for part in asked)
    return finding(
        ID, "warn", context, _BLAME,
        f"{words_of(asked)} can't be reclaimed, {pinned / limit.bytes:.0%} of {limit.words} of {gib_text(limit.bytes)}:"
        " loading, page cache and the engine have the rest",
        figures={"pinned_bytes": round(pinned), "limit_bytes": round(limit.bytes)},
        formula=f"pinned bytes <= {MOST_PINNED_FRACTION:g} x limit",
        remedy=_at_most(context, asked, limit.bytes, 0.0),
    )  # fmt: skip


def largest(context: Context, parts: list[HostPart], limit: HostLimit) -> str | None:
    """The largest offload that fits at the pessimistic end, else the container limit that would do."""
    others = sum(part.bytes.high for part in parts if part.name not in OFFLOADS)
    smaller = _at_most(context, [part for part in parts if part.name in OFFLOADS], limit.bytes, others)
    if smaller is not None:
        return smaller
    return f"a memory limit of {math.ceil(to_gib(total(parts).high))}Gi" if limit.container else None


def _at_most(context: Context, asked: list[HostPart], room_bytes: float, others_bytes: float) -> str | None:
    """The setting with the value that leaves the others their room, in whole units of the setting."""
    for part in asked:
        beside = others_bytes + sum(item.bytes.high for item in asked if item is not part)
        room = min(room_bytes - beside, MOST_PINNED_FRACTION * room_bytes)
        value = math.floor(context.number(part.name) * max(room, 0.0) / part.bytes.high)
        if value > 0 and part.name in ("kv_offloading_size", "cpu_offload_gb"):
            return spelled(context, part.name, value)
        if value > 0:
            names = {"lmcache_gib_per_rank": "LMCACHE_MAX_LOCAL_CPU_SIZE", "hicache_gb_per_rank": "--hicache-size"}
            return f"{names.get(part.name, part.name)} of at most {value:,}"
    return None
