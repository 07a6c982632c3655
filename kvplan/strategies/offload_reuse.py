"""Idle prefixes and sessions in host memory, reloaded when they come back. Active KV stays in HBM.

So it never rescues a request whose own KV does not fit: it saves prefill, not HBM.
"""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Ends, Input, PlainStrategy, Situation, ends
from kvplan.units import GIB

_LINK_RATE = Interval(0.45, 0.80, 0.95)


class OffloadReuse(PlainStrategy):
    """vLLM OffloadingConnector, LMCache, SGLang HiCache."""

    id = "offload-reuse"
    title = "idle prefixes in DRAM, reloaded"
    order = 1
    second_pool = True
    formula = (
        "HBM   = as hbm: every decoding sequence keeps all its KV in GPU memory",
        "DRAM  = (idle sessions x context + shared prefix) x KV bytes",
        "TTFT  = hit tokens x KV bytes / link rate at the block size + 12 ms + prefill of the rest",
        "link  = requests/s x (hit tokens reloaded + new tokens written)",
        "faster than recomputing from L tokens on: L x KV bytes / link rate + 12 ms = prefill of L tokens",
        "pays above hits x: (1 - x) x prefill / 0.97 + x x KV bytes / link rate = prefill, each for one token",
    )
    inputs = (
        Input("link rate at the engine's block size", _LINK_RATE, "of large copies",
              "vLLM transfer curves: 44 of 55 GB/s at 1 MiB, 32 at 256 KiB; LMCache 50 of 55"),
        Input("fixed reload time", Interval(0.010, 0.012, 0.015), "s", "vLLM reload TTFT, 10 points, 6.2 % mean error"),
    )  # fmt: skip
    evidence = (
        "vLLM 0.12 on H100: TTFT 43 to 312 ms reloaded against 265 to 6854 ms computed (10k to 100k tokens)",
        "at a hit fraction of 50 % prefill throughput grows 1.7 x, at 0 % it loses 3 %: it pays above 3 % of hits",
        "LMCache on B200: a store of 32 Gbit/s beats prefill above 256k tokens only, one of 64 Gbit/s always",
        "kappa_crit, 8 x H100 at 15 GB/s: the link decides TTFT from 2 cached tokens for a new one (70B; Qwen3-235B 1)",
        "Mooncake, 70B and a prefix of 8k: reloading pays above 6 GB/s on 8 x A800, 19 GB/s on 8 x H800, all together",
    )

    def charges(self, situation: Situation) -> Ends:
        return ends(reuse=1.0, link_rate_fraction=_LINK_RATE)

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        deployment = situation.deployment
        kept = placed.growing_bytes * max(deployment.workload.idle_sessions, deployment.workload.users)
        held = deployment.settings.kv_offloading_bytes or kept * deployment.layout.tp * deployment.layout.pp
        total_gib = max(1, math.ceil(held / GIB))
        if deployment.engine.name == "vllm":
            return (f"--kv-offloading-size {total_gib}",)
        if deployment.engine.name == "sglang":
            return ("--enable-hierarchical-cache", "--hicache-ratio 2")
        return None

    def notes(self, situation: Situation) -> tuple[str, ...]:
        found = ["a request whose own KV does not fit in HBM still does not fit"]
        if situation.deployment.workload.prefix_hit_fraction == 0.0:
            found.append("judged at a hit fraction of 0: give --prefix-hit-fraction to see what it is worth")
        return tuple(found)


STRATEGIES = (OffloadReuse(),)
