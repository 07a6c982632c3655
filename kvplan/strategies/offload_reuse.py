"""Idle prefixes and sessions in host memory, reloaded when they come back. Active KV stays in HBM.

So it never rescues a request whose own KV does not fit: it saves prefill, not HBM.
"""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.domain.interval import Interval
from kvplan.engines.host_memory import HICACHE_LEAST
from kvplan.engines.versions import release
from kvplan.strategies.interface import Ends, Input, PlainStrategy, Situation, ends
from kvplan.units import GB, GIB

_LINK_RATE = Interval(0.45, 0.80, 0.95)


class OffloadReuse(PlainStrategy):
    """vLLM OffloadingConnector, LMCache, SGLang HiCache."""

    id = "offload-reuse"
    title = "idle prefixes in DRAM, reloaded"
    order = 1
    second_pool = True
    formula = (
        "HBM   = as hbm: every decoding sequence keeps all its KV in GPU memory",
        "DRAM  = (idle sessions x context + shared prefix) x KV bytes of every rank x what the engine rounds up to",
        "TTFT  = hit tokens x KV bytes / link rate at the block size + 12 ms + prefill of the rest",
        "link  = requests/s x (hit tokens reloaded + new tokens written)",
    )
    inputs = (
        Input("link rate at the engine's block size", _LINK_RATE, "of large copies",
              "vLLM transfer curves: 44 of 55 GB/s at 1 MiB, 32 at 256 KiB; LMCache 50 of 55"),
        Input("fixed reload time", Interval(0.010, 0.012, 0.015), "s", "vLLM reload TTFT, 10 points, 6.2 % mean error"),
    )  # fmt: skip
    evidence = (
        "vLLM 0.12 on H100: TTFT 43 to 312 ms reloaded against 265 to 6854 ms computed (10k to 100k tokens)",
        "at a hit fraction of 50 % prefill throughput grows 1.7 x, at 0 % it loses 3 %",
    )

    def charges(self, situation: Situation) -> Ends:
        return ends(reuse=1.0, link_rate_fraction=_LINK_RATE)

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        deployment, layout = situation.deployment, situation.deployment.layout
        sessions = max(deployment.workload.idle_sessions, deployment.workload.users)
        ranks, asked = layout.tp * layout.pp, deployment.settings.kv_offloading_bytes
        rank_bytes = asked / ranks if asked else placed.growing_bytes * sessions / layout.dp
        if deployment.engine.name == "vllm":
            return (f"--kv-offloading-size {max(1, math.ceil(rank_bytes * ranks / GIB))}",)
        if deployment.engine.name == "sglang":
            return ("--enable-hierarchical-cache", _hicache(situation, rank_bytes))
        if deployment.engine.name == "tensorrt-llm" and release(deployment.engine.version) >= (1, 2):
            config = f"kv_cache_config: {{host_cache_size: {math.ceil(rank_bytes)}}}"
            return (f"--extra_llm_api_options <(echo '{config}')",)
        return None

    def notes(self, situation: Situation) -> tuple[str, ...]:
        found = ["a request whose own KV does not fit in HBM still does not fit"]
        if situation.deployment.workload.prefix_hit_fraction == 0.0:
            found.append("judged at a hit fraction of 0: give --prefix-hit-fraction to see what it is worth")
        return (*found, *situation.policy.host_pool.limits)


def _hicache(situation: Situation, rank_bytes: float) -> str:
    """A size as it was given, else a share of the device's pool, which is known to be large enough to start with."""
    layout, pool = situation.deployment.layout, situation.policy.host_pool.least_bytes.best
    if situation.deployment.settings.kv_offloading_bytes or not pool:
        return f"--hicache-size {max(1, math.ceil(rank_bytes / GB))}"
    share = rank_bytes * layout.gpus * HICACHE_LEAST / pool
    return f"--hicache-ratio {max(HICACHE_LEAST, math.ceil(10.0 * share) / 10.0):g}"


STRATEGIES = (OffloadReuse(),)
