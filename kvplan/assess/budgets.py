"""Demand -> the budgets that people read: used, limit, and every part with its formula and source."""

from __future__ import annotations

from kvplan.assess import host_parts
from kvplan.assess.calibrated import measured_weight_words
from kvplan.assess.constants import UNLIMITED
from kvplan.assess.judged import Judged
from kvplan.assess.link_budget import link_parts
from kvplan.domain.assessment import Budget, Part
from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Situation


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
        "dram_capacity": host_parts.dram_capacity(judged),
        "dram_bandwidth": host_parts.dram_bandwidth(judged),
        "link": link_parts(judged.ends[1], judged.demand, judged.strategy.title),
        "cpu_cores": host_parts.cpu_cores(judged),
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


def _proof(judged: Judged) -> tuple[str, ...]:
    return judged.strategy.proof(Situation(judged.deployment, judged.policy, {}))
