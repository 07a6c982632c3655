"""What of a device's memory an engine finds free: less what a display holds, or a share of the one pool."""

from __future__ import annotations

from typing import Final

from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.engines.interface import Term
from kvplan.units import gib, to_gib

FIT_MARGIN_BYTES: Final = gib(1)
"""What llama.cpp's own fitting leaves free on each device (``-fitt 1024``)."""


def display_reserve(host: Host) -> Term:
    """GPU memory that is gone before an engine starts: as stated, or a class estimate that says so."""
    held, basis = host.display_reserve_bytes, host.basis.get("display_reserve_bytes")
    if held.is_exact:
        return Term(held, "the display's part", basis or host.source)
    span = f"{to_gib(held.low):.2g} to {to_gib(held.high):.2g} GiB"
    return Term(held, f"the display's part ({span}: {(basis or 'an estimate').split(',')[0]})", basis or host.source)


def device_memory(host: Host) -> Term:
    """What an engine without a fraction of its own may fill: free device memory, its share of the pool, or DRAM."""
    gpu, reserve = host.gpu, display_reserve(host)
    if gpu is None or gpu.kernel_class == "cpu":
        usable = Interval.exact((host.dram_bytes or 0.0) - host.os_reserve_bytes)
        return Term(usable, "host memory less the operating system's part", host.source)
    if host.unified_memory:
        share = host.gpu_share_fraction or 1.0
        source = host.basis.get("gpu_share_fraction", host.source)
        pool = gpu.hbm_bytes.map(lambda value: min(value * share, value - host.os_reserve_bytes))
        formula = f"{share:g} of the one pool: what the platform lets the GPU wire"
        return Term(less(pool, reserve.bytes), formula, source)
    return Term(less(gpu.hbm_bytes, reserve.bytes), f"device memory less {reserve.formula}", gpu.source)


def less(total: Interval, taken: Interval) -> Interval:
    """What is left, the ends paired the other way round; never below zero."""
    ends = (total.low - taken.high, total.best - taken.best, total.high - taken.low)
    return Interval(*(max(value, 0.0) for value in ends))


def gib_words(value_bytes: float) -> str:
    """``30.1 GiB``."""
    return f"{to_gib(value_bytes):.1f} GiB"
