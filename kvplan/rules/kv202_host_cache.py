"""KV202: caches that nobody sized may grow beyond the host's or the container's memory.

A container is killed when they fill, days after the start. Without a container limit a cache that nobody sized may
take half of the host: what the rest needs is not known, and hosts have other things to do.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.host_caches import UNLIMITED, HostCache, caches_of
from kvplan.rules.interface import Finding, finding
from kvplan.rules.llama_wording import spelled_for_server
from kvplan.rules.surroundings import quantity_bytes
from kvplan.rules.wording import gib_text
from kvplan.units import MIB, gib

ID = "KV202"
TITLE = "a host cache that nobody sized is over the budget"
LEVEL = "fail"
_OWN = Interval(gib(0.3), gib(1), gib(2.2))
"""A llama-server's own host memory. Source: class estimate; 11 GB resident with a full cache (aimee PR 1385)."""
_BLAME = ("cache_ram_mib", "runners", "kv_transfer_config", "memory_limit", "model")


def check(context: Context) -> Iterator[Finding]:
    caches = caches_of(context)
    if not caches:
        return
    limit, whose = _limit(context, caches)
    if limit is None:
        yield from _without_limit(context, caches)
        return
    low = _OWN.low + sum(cache.low_bytes for cache in caches)
    best = _OWN.best + sum(cache.low_bytes for cache in caches)
    high = _OWN.high + sum(cache.high_bytes for cache in caches)
    in_container = context.has("memory_limit")
    if not in_container:
        low = best = low - _OWN.low  # of half a host the other half is for everything else
        high -= _OWN.high
    level = "fail" if low > limit else "warn" if high > limit else None
    if level is not None:
        yield _over(context, caches, (low, best, high), limit, whose, level)


def _over(
    context: Context, caches: list[HostCache], used: tuple[float, float, float], limit: float, whose: str, level: str
) -> Finding:
    words = " + ".join(cache.words for cache in caches)
    low, _, high = used
    total = "no end" if high == UNLIMITED else gib_text(low) if level == "fail" else f"up to {gib_text(high)}"
    own = f" + {gib_text(_OWN.low if level == 'fail' else _OWN.high)} of its own" if context.has("memory_limit") else ""
    return finding(
        ID, level, context, _BLAME,
        f"{words}{own} = {total} of host memory as requests come, and {whose} is {gib_text(limit)}",
        figures={
            "low_bytes": -1 if low == UNLIMITED else round(low),
            "high_bytes": -1 if high == UNLIMITED else round(high),
            "limit_bytes": round(limit),
            "copies": max(cache.copies for cache in caches),
        },
        formula="copies x cache of each + the server's own memory <= the container's limit, or half of the host",
        remedy=_remedy(context, caches, limit),
    )  # fmt: skip


def _limit(context: Context, caches: list[HostCache]) -> tuple[float | None, str]:
    """The container's limit, else half of the host; all of it where a stated part of the host is taken by design."""
    given = context.translated.values.get("memory_limit")
    if given is not None:
        try:
            return quantity_bytes(str(given)), "the container's limit"
        except InputError:
            return None, ""
    if context.host is None or context.host.dram_bytes is None:
        return None, ""
    others = 0.0
    if context.judged is not None:
        others = context.judged.deployment.neighbours.dram_bytes
    if any(cache.setting == "offload_host_fraction" for cache in caches):
        return context.host.dram_bytes - others, f"{context.host.name}'s"
    return context.host.dram_bytes / 2 - others, f"half of what {context.host.name} has"


def _without_limit(context: Context, caches: list[HostCache]) -> Iterator[Finding]:
    """No cache without an end is inside any budget; how large the host is would only say when it ends."""
    for cache in caches:
        if cache.low_bytes == UNLIMITED:
            message = f"{cache.words}: it grows until the host has no memory left"
            yield finding(ID, "warn", context, (cache.setting, *_BLAME), message, remedy=_sized(context, 8192))


def _remedy(context: Context, caches: list[HostCache], limit: float) -> str | None:
    """The largest cache with which all copies fit at the pessimistic end."""
    prompts = [cache for cache in caches if cache.what == "prompt"]
    if not prompts:
        over = sum(cache.high_bytes for cache in caches) + _OWN.high
        return f"a memory limit of {-(-over // gib(1)):.0f}Gi, or a size for the cache ({caches[0].setting})"
    own = _OWN.high if context.has("memory_limit") else 0.0
    others = sum(cache.high_bytes for cache in caches if cache.what != "prompt")
    each = max(int((limit - own - others) / prompts[0].copies / MIB) // 256 * 256, 0)
    return _sized(context, each)


def _sized(context: Context, each_mib: int) -> str:
    off = ": no prompts are kept" if each_mib == 0 else ""
    return f"{spelled_for_server(context, 'cache_ram_mib', each_mib) or f'--cache-ram {each_mib}'}{off}"
