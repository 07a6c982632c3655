"""Host memory of one deployment: what its settings pin, with the multiplier that each of them has.

``--kv-offloading-size`` and ``cpu_bytes_to_use`` are for the whole server, ``--cpu-offload-gb`` and ``--swap-space``
for each GPU, sizes of LMCache, SGLang and TensorRT-LLM for each rank. Needs no host: a container's limit is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvplan.domain.interval import Interval
from kvplan.engines.host_memory import is_hybrid
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import Ranks, engine_name, pinned_version, ranks_of
from kvplan.rules.pinned_rounding import kv_rounding, weight_rounding
from kvplan.units import gb, gib

OFFLOADS = ("kv_offloading_size", "offload_bytes", "offload_bytes_per_rank", "lmcache_gib_per_rank", "cpu_offload_gb",
            "swap_space", "hicache_gb_per_rank", "hicache_ratio", "host_cache_bytes_per_rank")  # fmt: skip
PER_RANK = ("offload_bytes_per_rank", "lmcache_gib_per_rank", "cpu_offload_gb", "swap_space", "hicache_gb_per_rank",
            "host_cache_bytes_per_rank")  # fmt: skip
"""Those whose size is for each rank or GPU."""
PROCESS = Interval(gib(1.5), gib(3.0), gib(8.0))
"""Resident host memory of an engine's worker process: class estimate."""
SWAP_UNTIL = (0, 18)
"""The first vLLM without swap space."""


@dataclass(frozen=True, slots=True)
class HostPart:
    """One line of the host's memory, all ranks of one host together."""

    name: str
    told_bytes: float
    """As asked for, multiplied, without any rounding; 0 for lines that nobody asked for."""
    bytes: Interval
    """With rounding."""
    words: str

    @property
    def told(self) -> Interval:
        """What is surely taken: as asked for, or the estimate of a line that nobody asked for."""
        return Interval.exact(self.told_bytes) if self.told_bytes else self.bytes


def host_parts(context: Context) -> list[HostPart]:
    """Every line, the engine's own first."""
    ranks = ranks_of(context)
    parts = [HostPart("engine", 0.0, _engine(context, ranks), "engine processes"), *pinned_parts(context)]
    parts += _assessed(context)
    tenants = max(int(context.number("tenants", 1.0)), 1)
    parts = [HostPart(p.name, p.told_bytes * tenants, p.bytes.scaled(tenants), p.words) for p in parts]
    others = gib(context.number("other_dram_gib"))
    if others:
        parts.append(HostPart("others", others, Interval.exact(others), "others on the host"))
    return parts


def pinned_parts(context: Context) -> list[HostPart]:
    """What settings pin, each with its multiplication."""
    ranks = ranks_of(context)
    each, gpus = float(ranks.on_a_host), f" x {ranks.on_a_host} ranks" if ranks.on_a_host > 1 else ""
    # Each data-parallel rank is an engine of its own, with a region of its own.
    engines = max(ranks.dp // ranks.nodes, 1)
    whole = f" x {engines} data-parallel ranks" if engines > 1 else ""
    pools = 2 if context.model is not None and is_hybrid(context.model) else 1
    hybrid = f"{gpus} x 2 pools of a hybrid model" if pools > 1 else gpus
    rows = (
        ("kv_offloading_size", gib(1), engines, whole, True),
        ("offload_bytes", 1.0, engines, whole, True),
        ("offload_bytes_per_rank", 1.0, each, gpus, True),
        ("lmcache_gib_per_rank", gib(1), each, gpus, False),
        ("swap_space", gib(1), each, gpus, False),
        ("hicache_gb_per_rank", gb(1), each * pools, hybrid, False),
        ("host_cache_bytes_per_rank", 1.0, each, gpus, False),
    )
    parts = []
    for name, unit, times, words, rounds in rows:
        told = context.number(name) * unit * times
        if told and not (name == "swap_space" and _without_swap(context)):
            taken = kv_rounding(context, told) if rounds else Interval.exact(told)
            parts.append(HostPart(name, told, taken, f"{name}{words}"))
    weights = gib(context.number("cpu_offload_gb")) * each
    if weights:
        taken = weight_rounding(context).scaled(weights)
        parts.append(HostPart("cpu_offload_gb", weights, taken, f"cpu_offload_gb{gpus}"))
    return [*parts, *_hicache_ratio(context, ranks)]


def _hicache_ratio(context: Context, ranks: Ranks) -> list[HostPart]:
    """SGLang: so many times the device's pool; only where that pool is known."""
    share = context.judged.share if context.judged is not None else None
    if share is None or not context.translated.is_on("enable_hierarchical_cache"):
        return []
    if context.number("hicache_gb_per_rank"):
        return []
    ratio = context.number("hicache_ratio", 2.0)
    pool = share.pool.map(lambda value: max(value, 0.0)).scaled(ratio * ranks.on_a_host)
    return [HostPart("hicache_ratio", 0.0, pool, f"{ratio:g} x KV pool x {ranks.on_a_host} ranks")]


def _engine(context: Context, ranks: Ranks) -> Interval:
    if context.judged is not None:
        return context.judged.frame.situation.policy.engine_dram.bytes.scaled(1.0 / ranks.nodes)
    return PROCESS.scaled(float(ranks.on_a_host))


def _assessed(context: Context) -> list[HostPart]:
    """What a strategy that the file names puts into host memory, where no flag gives a size."""
    judged = context.judged
    budget = judged.configured.budgets.get("dram_capacity") if judged is not None else None
    if judged is None or budget is None or context.has(*OFFLOADS) or not context.translated.words.strategies:
        return []
    tenants = max(judged.deployment.neighbours.tenants, 1)
    return [
        HostPart(part.name, 0.0, Interval.exact(part.value / tenants), f"{judged.configured.id} {part.name}")
        for part in budget.parts
        if part.name in ("kv", "weights", "reuse")
    ]


def _without_swap(context: Context) -> bool:
    version = pinned_version(context)
    return engine_name(context) != "vllm" or (version is not None and version >= SWAP_UNTIL)


def total(parts: list[HostPart]) -> Interval:
    """All lines, rounded up as the engine may."""
    return _sum([part.bytes for part in parts])


def total_told(parts: list[HostPart]) -> Interval:
    """All lines, what is asked for taken as asked."""
    return _sum([part.told for part in parts])


def _sum(values: list[Interval]) -> Interval:
    found = Interval.exact(0.0)
    for value in values:
        found = found.plus(value)
    return found
