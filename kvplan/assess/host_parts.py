"""The host's two ledgers in words: host memory (what lies in it, what goes in and out) and CPU cores, line by line."""

from __future__ import annotations

from kvplan.assess.judged import Judged
from kvplan.core.shapes import HostRates, Plan
from kvplan.domain.assessment import Part
from kvplan.strategies.interface import Situation
from kvplan.units import to_gb_per_s


def dram_capacity(judged: Judged) -> list[Part]:
    """What lies in host memory, with the multiplier of each line."""
    demand, policy, best = judged.demand, judged.policy, judged.ends[1]
    charges, times = best.charges, _by_tenant(judged)
    source, pool = judged.strategy.title, judged.policy.host_pool
    pinned = best.limits.pinned_weight_factor
    rounded = f" x {pinned:g} for pinned buffers rounded up" if pinned != 1.0 else ""
    return [
        Part("kv", demand.dram_kv_bytes, f"users x {charges.dram_fraction:g} x KV bytes, or what spills{times}",
             source),
        Part("index", demand.dram_index_bytes, f"users x {charges.dram_index_fraction:.4g} x KV bytes{times}",
             _cpu_source(judged, source)),
        Part("weights", demand.dram_weight_bytes, f"weights that do not fit in HBM{rounded}{times}", source),
        Part("reuse", demand.dram_reuse_bytes, _reuse_formula(judged) + times, pool.source or source),
        Part("engine", demand.dram_engine_bytes, policy.engine_dram.formula + times, policy.engine_dram.source),
        Part("others", demand.dram_other_bytes, "--other-dram-gib", "given"),
    ]  # fmt: skip


def _reuse_formula(judged: Judged) -> str:
    """The pool that the engine is told to pin, or room for the sessions at the engine's own multiplier."""
    traffic, pool = judged.ends[1].traffic, judged.policy.host_pool
    if traffic.reuse_pool_bytes > 0.0:
        return f"--kv-offloading-size: {pool.formula}" if pool.formula else "--kv-offloading-size"
    rounding = f" x {traffic.reuse_factor:g}" if traffic.reuse_factor != 1.0 else ""
    words = f"(idle sessions x context + prefix) x KV bytes{rounding}"
    return f"{words} ({pool.formula})" if pool.formula else words


def dram_bandwidth(judged: Judged) -> list[Part]:
    """What goes in and out of host memory: copies and the reads of cores share one rate."""
    moved, best, source = judged.demand.dram_traffic, judged.ends[1], judged.strategy.title
    share, times = best.charges.cpu_rate_fraction, _by_tenant(judged)
    kv_share, weight_share = best.host.cpu_dram_fraction * share, best.host.cpu_weight_fraction * share
    cpu = _cpu_source(judged, "MagicPIG and KTransformers: 80 to 105 GB/s at the DRAM limit")
    pace = f"/ ITL objective{times}"
    return [
        Part("kv to GPUs", moved.fetched_kv_bytes_per_s, f"KV bytes of a step over all links {pace}", source),
        Part("weights to GPUs", moved.streamed_weight_bytes_per_s, f"weight bytes of a step over all links {pace}",
             source),
        Part("reloads", moved.reloaded_kv_bytes_per_s, f"requests/s x hit tokens x KV bytes{times}", source),
        Part("kv from GPUs", moved.written_kv_bytes_per_s, f"requests/s x new tokens x KV bytes{times}", source),
        Part("cpu attention", moved.attended_kv_bytes_per_s,
             f"KV bytes that cores read {pace} / {kv_share:.2f} of the rate, which such reading reaches", cpu),
        Part("cpu weights", moved.multiplied_weight_bytes_per_s,
             f"weight bytes that cores read {pace} / {weight_share:.2f} of the rate, which such reading reaches", cpu),
    ]  # fmt: skip


def cpu_cores(judged: Judged) -> list[Part]:
    """The engine's processes by kind, then what the strategy and others keep busy."""
    demand, policy = judged.demand, judged.policy
    charges, limits, times = judged.ends[1].charges, judged.ends[1].limits, _by_tenant(judged)
    lookup = f"{charges.lookup_cores_per_gpu:g} x {judged.deployment.layout.gpus} GPUs, two threads a core{times}"
    processes = [
        Part(line.name, line.cores * limits.tenants, line.formula + times, line.source) for line in policy.core_lines
    ]
    return [
        *processes,
        Part("look-up", demand.lookup_cores, lookup, _cpu_source(judged, "none")),
        Part("attention", demand.attention_cores, _core_formula(judged.ends[1]), _cpu_source(judged, "ScoutAttention")),
        Part("others", demand.other_cores, "--other-cpu-cores", "given"),
    ]  # fmt: skip


def _core_formula(best: Plan) -> str:
    """What one core reads, at the pace of this strategy's reading, and what cores beyond the best are worth."""
    share = best.charges.cpu_rate_fraction
    kv, weights = best.host.core_bytes_per_s * share, best.host.core_weight_bytes_per_s * share
    rates = f"KV / {to_gb_per_s(kv):.2g} GB/s a core + weights / {to_gb_per_s(weights):.2g} GB/s a core"
    return rates + _lesser(best.host)


def _lesser(host: HostRates) -> str:
    if host.full_cores >= host.cpu_cores:
        return ""
    return f"; beyond {host.full_cores:g} cores (other memory nodes, efficiency cores) at {host.lesser_core_worth:g}"


def _by_tenant(judged: Judged) -> str:
    tenants = judged.ends[1].limits.tenants
    return f", x {tenants:.0f} tenants" if tenants > 1 else ""


def _cpu_source(judged: Judged, otherwise: str) -> str:
    """The method that the CPU's share follows."""
    method = judged.strategy.method(Situation(judged.deployment, judged.policy, {}))
    return otherwise if method is None else f"{method.title}: {method.source}"
