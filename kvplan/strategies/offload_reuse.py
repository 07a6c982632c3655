"""Idle prefixes and sessions in host memory, reloaded when they come back. Active KV stays in HBM.

So it never rescues a request whose own KV does not fit: it saves prefill, not HBM. How fast it reloads is the business
of its methods (``methods/reload.py``): what one copy holds depends on the engine and its version.
"""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.engines.host_memory import HICACHE_LEAST
from kvplan.engines.versions import release
from kvplan.strategies.interface import Ends, Input, Method, PlainStrategy, Situation
from kvplan.strategies.methods import method_for, methods_of
from kvplan.strategies.methods.reload import CONNECTOR, UNKNOWN_SIZE, layout_of, reload_charges
from kvplan.units import GB, GIB

_BREAK_EVEN = (
    "faster than recomputing from L tokens on: L x KV bytes / rate = prefill of L tokens",
    "pays above hits x: (1 - x) x prefill / 0.97 + x x KV bytes / rate = prefill, each for one token",
)


class OffloadReuse(PlainStrategy):
    """vLLM OffloadingConnector, LMCache, SGLang HiCache."""

    id = "offload-reuse"
    title = "idle prefixes in DRAM, reloaded"
    order = 1
    second_pool = True
    formula = (*CONNECTOR.formula, *_BREAK_EVEN)
    inputs = (
        *CONNECTOR.inputs,
        Input("link rate where the layout is not known", UNKNOWN_SIZE, "of large copies",
              "vLLM transfer curves: 44 of 55 GB/s at 1 MiB, 32 at 256 KiB; LMCache 50 of 55"),
    )  # fmt: skip
    evidence = (
        *CONNECTOR.evidence,
        "LMCache on B200: a store of 32 Gbit/s beats prefill above 256k tokens only, one of 64 Gbit/s always",
        "kappa_crit, 8 x H100 at 15 GB/s: the link decides TTFT from 2 cached tokens for a new one (70B; Qwen3-235B 1)",
        "Mooncake, 70B and a prefix of 8k: reloading pays above 6 GB/s on 8 x A800, 19 GB/s on 8 x H800, all together",
    )

    def method(self, situation: Situation) -> Method | None:
        """As ``--method`` says, else the engine's own; None for engines whose layout is not known."""
        found = method_for(self.id, situation)
        asked = situation.deployment.method in [method.name for method in methods_of(self.id)]
        return found if asked or situation.deployment.engine.name in found.stock_engines else None

    def charges(self, situation: Situation) -> Ends:
        method = self.method(situation)
        return reload_charges(situation, None) if method is None else method.charges(situation)

    def proof(self, situation: Situation) -> tuple[str, ...]:
        method = self.method(situation)
        return self.evidence if method is None else method.evidence

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        deployment, layout, method = situation.deployment, situation.deployment.layout, self.method(situation)
        engine = deployment.engine
        sessions = max(deployment.workload.idle_sessions, deployment.workload.users)
        ranks, asked = layout.tp * layout.pp, deployment.settings.kv_offloading_bytes
        rank_bytes = asked / ranks if asked else placed.growing_bytes * sessions / layout.dp
        if engine.name == "tensorrt-llm" and release(engine.version) >= (1, 2):
            config = f"kv_cache_config: {{host_cache_size: {math.ceil(rank_bytes)}}}"
            return (f"--extra_llm_api_options <(echo '{config}')",)
        if method is None or engine.name not in method.stock_engines:
            return None
        if engine.name == "sglang":
            return ("--enable-hierarchical-cache", _hicache(situation, rank_bytes))
        chosen = ("--kv-offloading-backend lmcache",) if method.name == "lmcache" else ()
        return (f"--kv-offloading-size {max(1, math.ceil(rank_bytes * ranks / GIB))}", *chosen)

    def notes(self, situation: Situation) -> tuple[str, ...]:
        found = ["a request whose own KV does not fit in HBM still does not fit"]
        method = self.method(situation)
        layout = layout_of(situation, None if method is None else method.name)
        if layout is not None:
            found.append(f"copied in {layout.words}")
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
