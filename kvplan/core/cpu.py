"""CPU cores that read KV or weights out of host memory."""

from __future__ import annotations

from kvplan.core.shapes import HostRates


def cpu_read_bytes_per_s(host: HostRates, cores: float) -> float:
    """What so many cores read together: cores x rate of one, until the DRAM share of CPU attention is reached.

    Source: ScoutAttention (36 cores, about 100 GB/s), MagicPIG and KTransformers (64 threads at the DRAM limit).
    """
    return min(cores * host.core_bytes_per_s, host.cpu_dram_fraction * host.dram_bytes_per_s)


def weight_read_bytes_per_s(host: HostRates, cores: float) -> float:
    """The same for weights, which are read in order: cores x rate of one, up to their share of the DRAM rate."""
    return min(cores * host.core_weight_bytes_per_s, host.cpu_weight_fraction * host.dram_bytes_per_s)


def core_worth(host: HostRates, cores: float) -> float:
    """So many physical cores in cores that read at full rate: those come first, any further one is worth less.

    Threads of one core share its reads, so that hyper-threads are not among them. Worth less are efficiency cores, and
    cores of another memory node (KTransformers: the second socket adds 0.4 of the first).
    """
    return min(cores, host.full_cores) + host.lesser_core_worth * max(cores - host.full_cores, 0.0)


def cores_on_top(host: HostRates, taken: float, needed: float) -> float:
    """Physical cores beside ``taken`` ones that read what ``needed`` full cores do."""
    if taken + needed <= host.full_cores:
        return needed
    worth = core_worth(host, taken) + needed
    return host.full_cores + (worth - host.full_cores) / host.lesser_core_worth - taken


def cores_for(host: HostRates, kv_bytes_per_s: float, weight_bytes_per_s: float) -> float:
    """Cores that read KV and weights at these rates, before any DRAM limit."""
    return kv_bytes_per_s / host.core_bytes_per_s + weight_bytes_per_s / host.core_weight_bytes_per_s


def numa_rate_fraction(nodes: float, nodes_in_use: float, remote_gain: float) -> float:
    """Share of a machine's DRAM rate that work on ``nodes_in_use`` of its nodes can draw.

    A further socket adds ``remote_gain`` of its own rate (KTransformers: the second of two gives 1.4x, not 2x).
    """
    local = min(nodes, nodes_in_use)
    return (local + remote_gain * (nodes - local)) / nodes
