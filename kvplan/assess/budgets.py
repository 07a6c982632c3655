"""Demand -> the budgets that people read: used, limit, and every part with its formula and source."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.assess.calibrated import measured_weight_words
from kvplan.assess.constants import UNLIMITED
from kvplan.assess.link_budget import link_parts
from kvplan.core.accounts import Demand, Loads, Placement
from kvplan.core.shapes import Plan
from kvplan.domain.assessment import Budget, Part
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.engines.interface import MemoryPolicy
from kvplan.strategies.interface import Situation, Strategy
from kvplan.units import to_gb_per_s


class Judged(NamedTuple):
    """One strategy's numbers as they came out of the core."""

    deployment: Deployment
    policy: MemoryPolicy
    strategy: Strategy
    ends: tuple[Plan, Plan, Plan]
    loads: tuple[Loads, Loads, Loads]
    placed: Placement
    demand: Demand
    cautious: Placement
    """At the pessimistic end: what a command must make room for."""


def budgets(judged: Judged) -> dict[str, Budget]:
    """The five budgets of one strategy. Uncertain limits are folded into what is used, so that one limit is shown."""
    best = judged.ends[1]
    limits = {
        "hbm": best.limits.hbm_bytes,
        "dram_capacity": best.limits.dram_bytes,
        "dram_bandwidth": best.host.dram_bytes_per_s,
        "link": best.host.link_bytes_per_s,
        "cpu_cores": best.host.cpu_cores,
    }
    parts = {
        "hbm": _hbm(judged),
        "dram_capacity": _dram_capacity(judged),
        "dram_bandwidth": _dram_bandwidth(judged),
        "link": link_parts(judged.ends[1], judged.demand, judged.strategy.title),
        "cpu_cores": _cpu_cores(judged),
    }
    return {name: _budget(name, judged, limit, parts[name]) for name, limit in limits.items()}


def _budget(name: str, judged: Judged, limit: float, parts: list[Part]) -> Budget:
    shown = tuple(part for part in parts if part.value > 0.0)
    if limit >= UNLIMITED:
        return Budget(name, Interval.exact(sum(part.value for part in shown)), None, shown)
    if limit <= 0.0:  # all of it is taken before kvplan's parts: there is no load to speak of, only a demand
        return Budget(name, Interval.exact(sum(part.value for part in shown)), 0.0, shown)
    low, best, high = (getattr(load, name) * limit for load in judged.loads)
    return Budget(name, Interval(min(low, best), best, max(best, high)), limit, shown)


def _hbm(judged: Judged) -> list[Part]:
    demand, policy = judged.demand, judged.policy
    scheme = judged.deployment.settings.weights or judged.deployment.model.dtype
    layout = judged.deployment.layout
    formula, source = measured_weight_words(judged.deployment) or (
        f"{scheme} weights / {layout.tp * layout.pp} GPUs", judged.deployment.model.source
    )  # fmt: skip
    return [
        Part("weights", demand.hbm_weight_bytes, f"{formula}, what spills left out", source),
        Part("kv", demand.hbm_kv_bytes, _resident_formula(judged), "; ".join(_proof(judged)[:1])),
        Part("activations", policy.activation.bytes.best, policy.activation.formula, policy.activation.source),
        Part("runtime", policy.runtime.bytes.best, policy.runtime.formula, policy.runtime.source),
        Part("graphs", policy.graphs.bytes.best, policy.graphs.formula, policy.graphs.source),
    ]


def _resident_formula(judged: Judged) -> str:
    charges = judged.ends[1].charges
    one = f"{judged.placed.growing_bytes:.0f} B growing"
    if charges.resident_fraction != 1.0:
        one += f" x {charges.resident_fraction:.4f}"
    if charges.resident_tokens:
        one += f" + {charges.resident_tokens:.0f} tokens"
    if judged.placed.bounded_bytes:
        one += f" + {judged.placed.bounded_bytes:.0f} B windows"
    set_aside = judged.ends[1].limits.state_pool_bytes
    pool = f", states at least the {set_aside:.0f} B set aside" if set_aside else ""
    return f"sequences on the GPU x ({one}){pool}"


def _dram_capacity(judged: Judged) -> list[Part]:
    demand, policy = judged.demand, judged.policy
    factor = judged.ends[1].charges.dram_fraction
    tenants = judged.ends[1].limits.tenants
    by_tenant = f", x {tenants:.0f} tenants" if tenants > 1 else ""
    source = judged.strategy.title
    return [
        Part("kv", demand.dram_kv_bytes, f"users x {factor:g} x KV bytes, or what spills{by_tenant}", source),
        Part("weights", demand.dram_weight_bytes, f"weights that do not fit in HBM{by_tenant}", source),
        Part("reuse", demand.dram_reuse_bytes, f"(idle sessions x context + prefix) x KV bytes{by_tenant}", source),
        Part("engine", demand.dram_engine_bytes, policy.engine_dram.formula + by_tenant, policy.engine_dram.source),
        Part("others", demand.dram_other_bytes, "--other-dram-gib", "given"),
    ]  # fmt: skip


def _dram_bandwidth(judged: Judged) -> list[Part]:
    demand, best = judged.demand, judged.ends[1]
    kv_share = best.host.cpu_dram_fraction * best.charges.cpu_rate_fraction
    weight_share = best.host.cpu_weight_fraction * best.charges.cpu_rate_fraction
    return [
        Part("copies", demand.dram_copy_bytes_per_s, "bytes over all links / ITL objective", judged.strategy.title),
        Part(
            "cpu attention",
            demand.dram_cpu_bytes_per_s,
            "bytes that cores read / ITL objective / the share of the rate that such reading reaches: "
            f"{kv_share:.2f} for KV, {weight_share:.2f} for weights",
            _cpu_source(judged, "MagicPIG and KTransformers: 80 to 105 GB/s at the DRAM limit"),
        ),
    ]  # fmt: skip




def _cpu_cores(judged: Judged) -> list[Part]:
    demand, policy = judged.demand, judged.policy
    charges, limits = judged.ends[1].charges, judged.ends[1].limits
    by_tenant = f", x {limits.tenants:.0f} tenants" if limits.tenants > 1 else ""
    lookup = f"{charges.lookup_cores_per_gpu:g} x {judged.deployment.layout.gpus} GPUs{by_tenant}"
    return [
        Part("engine", demand.engine_cores, f"{limits.engine_cores:g} cores{by_tenant}", policy.engine_cores_source),
        Part("look-up", demand.lookup_cores, lookup, _cpu_source(judged, "none")),
        Part("attention", demand.attention_cores, _core_formula(judged.ends[1]), _cpu_source(judged, "ScoutAttention")),
        Part("others", demand.other_cores, "--other-cpu-cores", "given"),
    ]  # fmt: skip


def _core_formula(best: Plan) -> str:
    """What one core reads, at the pace of this strategy's reading."""
    share = best.charges.cpu_rate_fraction
    kv, weights = best.host.core_bytes_per_s * share, best.host.core_weight_bytes_per_s * share
    return f"KV / {to_gb_per_s(kv):.2g} GB/s a core + weights / {to_gb_per_s(weights):.2g} GB/s a core"


def _proof(judged: Judged) -> tuple[str, ...]:
    return judged.strategy.proof(Situation(judged.deployment, judged.policy, {}))


def _cpu_source(judged: Judged, otherwise: str) -> str:
    """The method that the CPU's share follows."""
    method = judged.strategy.method(Situation(judged.deployment, judged.policy, {}))
    return otherwise if method is None else f"{method.title}: {method.source}"
