"""Host memory of one deployment: what its flags pin, with the multiplier that each flag has.

``--kv-offloading-size`` and ``cpu_bytes_to_use`` are for the whole server, ``--cpu-offload-gb`` and ``--swap-space``
for each GPU, LMCache's size for each rank. Pinned buffers may be rounded up to powers of two, tensor by tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvplan.domain.interval import Interval
from kvplan.engines.versions import release
from kvplan.rules.context import Context, Judged
from kvplan.units import gib

ROUNDED_KV = Interval(1.0, 1.0, 1.92)
"""Source: vLLM issue 53042 (200 GiB asked, 384 GiB pinned); 1.0 where tensors are powers of two already."""
ROUNDED_WEIGHTS = Interval(1.0, 1.15, 1.9)
"""Source: vLLM issue 56410, 1.15 to 1.18 for dense and 1.87 to 1.9 for mixture-of-experts models."""
EXACT = Interval.exact(1.0)

OFFLOADS = ("kv_offloading_size", "offload_bytes", "offload_bytes_per_rank", "lmcache_gib_per_rank", "cpu_offload_gb",
            "swap_space")  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostPart:
    """One line of the host's memory."""

    name: str
    bytes: Interval
    words: str


def host_parts(context: Context, judged: Judged) -> list[HostPart]:
    """Every line, the engine's own first."""
    gpus = judged.deployment.layout.gpus
    policy = judged.frame.situation.policy
    parts = [HostPart("engine", policy.engine_dram.bytes, "engine processes")]
    lmcache = str(context.translated.values.get("kv_offloading_backend", "")) == "lmcache"
    once, each = (1, ""), (gpus, f" x {gpus} GPUs" if gpus > 1 else "")
    rows = (
        ("kv_offloading_size", gib(1), once, EXACT if lmcache else ROUNDED_KV),
        ("offload_bytes", 1.0, once, ROUNDED_KV),
        ("offload_bytes_per_rank", 1.0, each, ROUNDED_KV),
        ("lmcache_gib_per_rank", gib(1), each, EXACT),
        ("cpu_offload_gb", gib(1), each, ROUNDED_WEIGHTS),
        ("swap_space", gib(1), each, EXACT),
    )
    for name, unit, (times, words), rounding in rows:
        asked = context.number(name) * unit
        if asked and not (name == "swap_space" and _without_swap(judged)):
            parts.append(HostPart(name, rounding.scaled(asked * times), f"{name}{words}"))
    parts += _assessed(context, judged)
    neighbours = judged.deployment.neighbours
    parts = [HostPart(part.name, part.bytes.scaled(neighbours.tenants), part.words) for part in parts]
    if neighbours.dram_bytes:
        parts.append(HostPart("others", Interval.exact(neighbours.dram_bytes), "others on the host"))
    return parts


def _assessed(context: Context, judged: Judged) -> list[HostPart]:
    """What a strategy that the file names puts into host memory, where no flag gives a size."""
    budget = judged.configured.budgets.get("dram_capacity")
    if budget is None or context.has(*OFFLOADS) or not context.translated.words.strategies:
        return []
    tenants = max(judged.deployment.neighbours.tenants, 1)
    return [
        HostPart(part.name, Interval.exact(part.value / tenants), f"{judged.configured.id} {part.name}")
        for part in budget.parts
        if part.name in ("kv", "weights", "reuse")
    ]


def _without_swap(judged: Judged) -> bool:
    """vLLM has no swap space since 0.18."""
    engine = judged.deployment.engine
    return engine.name != "vllm" or release(engine.version) >= (0, 18)
