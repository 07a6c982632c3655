"""A catalog host with what the user knows better about it."""

from __future__ import annotations

from kvplan.catalog.hardware import link_named
from kvplan.deployments.words import Words
from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.errors import InputError
from kvplan.units import GIB, LARGEST_COUNT, gb_per_s, gib, shorten


def overridden(host: Host, words: Words) -> Host:
    """The host with overrides applied and reduced to ``--gpus`` of its GPUs, all DRAM and cores kept."""
    changes: dict[str, object] = {}
    if words.gpus is not None:
        changes["gpus"] = _gpus(host, words.gpus)
    if words.cpu_cores is not None:
        changes.update(limited_cores(host, _number(words.cpu_cores, "--cpu-cores")))
    if words.dram_gb_per_s is not None:
        changes["dram_bytes_per_s"] = Interval.exact(gb_per_s(_number(words.dram_gb_per_s, "--dram-gb-per-s")))
    if words.numa_nodes is not None:
        changes["numa_nodes"] = int(_number(words.numa_nodes, "--numa-nodes"))
    if words.display_reserve_gib is not None:
        held_gib = _number(words.display_reserve_gib, "--display-reserve-gib", zero=True)
        changes["display_reserve_bytes"] = Interval.exact(gib(held_gib))
        changes["basis"] = {name: mark for name, mark in host.basis.items() if name != "display_reserve_bytes"}
    if words.link is not None:
        changes["link"] = link_named(words.link)
    changes.update(_memories(host, words))
    return host._replace(**changes) if changes else host  # type: ignore[arg-type]


def limited_cores(host: Host, cores: float) -> dict[str, object]:
    """Fields of a host of which so many cores may be used: all that it has, or a container's part of them."""
    there = host.installed_cores or (host.cpu_cores.best if host.cpu_cores else None)
    installed = there if there is not None and there > cores else None
    return {"cpu_cores": Interval.exact(cores), "installed_cores": installed}


def _memories(host: Host, words: Words) -> dict[str, object]:
    """GPU memory and host memory: one and the same where memory is unified."""
    changes: dict[str, object] = {}
    if words.dram_gib is not None:
        changes["dram_bytes"] = gib(_number(words.dram_gib, "--dram-gib"))
    pool_gib = words.hbm_gib if words.hbm_gib is not None or not host.unified_memory else words.dram_gib
    if pool_gib is None:
        return changes
    if host.gpu is None:
        raise InputError(f"--hbm-gib: {host.name} has no GPU")
    total = Interval.exact(gib(_number(pool_gib, "--hbm-gib")))
    changes["gpu"] = host.gpu._replace(hbm_bytes=total)
    if host.unified_memory:
        changes["dram_bytes"] = total.best
    return changes


def _gpus(host: Host, gpus: int) -> int:
    if isinstance(gpus, bool) or gpus < 1 or gpus > LARGEST_COUNT:
        bounds = "up to 2^53" if gpus > LARGEST_COUNT else "of at least 1"
        raise InputError(f"--gpus must be a whole number {bounds} (it is {shorten(repr(gpus))})")
    if gpus > host.gpus:
        raise InputError(
            f"--gpus {gpus}: {host.name} has {host.gpus}",
            help="write a host file with more GPUs, and give its path to --host",
        )
    return gpus


def _number(value: float, flag: str, *, zero: bool = False) -> float:
    above = LARGEST_COUNT / GIB
    if not 0 <= value < above or (value == 0 and not zero):
        least = f"below {above:.0f}" if value >= above else "0 or more" if zero else "greater than 0"
        raise InputError(f"{flag} must be {least} (it is {shorten(repr(value))})")
    return value
