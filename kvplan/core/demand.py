"""What a plan asks of the four budgets, line by line, at the pace of the ITL objective."""

from __future__ import annotations

from kvplan.core.accounts import Demand, Placement, Step
from kvplan.core.cpu import cores_for, cores_on_top
from kvplan.core.dram import dram_traffic, index_bytes, offloaded_kv_bytes, requests_per_s, reuse_dram_bytes
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.placement import overhead_bytes, sequences_per_replica
from kvplan.core.shapes import Plan


def request_link_bytes_per_s(plan: Plan, context_tokens: float, sequences: float) -> float:
    """Link traffic of starting requests on one GPU: reloaded prefixes, or the new prompt's KV on its way to DRAM."""
    prompt = context_tokens * plan.traffic.prompt_fraction
    hit = plan.traffic.hit_fraction
    reloaded = plan.charges.reuse * growing_bytes(plan.kv, prompt * hit)
    written = min(plan.charges.dram_fraction + plan.charges.reuse, 1.0) * growing_bytes(plan.kv, prompt * (1.0 - hit))
    return requests_per_s(plan, sequences) * (reloaded + written)


def demand(plan: Plan, placed: Placement, step: Step, context_tokens: float, users: float) -> Demand:
    """Every part of every budget. Tenants like this one multiply what is shared: DRAM, link, cores."""
    limits = plan.limits
    traffic = plan.traffic
    sequences = sequences_per_replica(plan, users)
    pace = limits.tenants / limits.itl_s
    request = request_link_bytes_per_s(plan, context_tokens, sequences) * limits.tenants
    engine_cores = limits.engine_cores * limits.tenants
    lookup_cores = plan.charges.lookup_cores_per_gpu * traffic.gpus * limits.tenants
    reading = cores_for(plan.host, step.cpu_kv_bytes, step.cpu_weight_bytes) * traffic.gpus * pace
    reading /= plan.charges.cpu_rate_fraction
    link_share = plan.charges.link_rate_fraction
    return Demand(
        plan.model.weight_bytes - placed.weights_spilled_bytes,
        placed.hbm_kv_bytes,
        overhead_bytes(plan),
        offloaded_kv_bytes(plan, placed, users) * limits.tenants,
        index_bytes(plan, placed, users) * limits.tenants,
        placed.weights_spilled_bytes * limits.pinned_weight_factor * traffic.gpus * limits.tenants,
        reuse_dram_bytes(plan, context_tokens, users) * limits.tenants,
        limits.engine_dram_bytes * limits.tenants,
        limits.other_dram_bytes,
        dram_traffic(plan, step, context_tokens, sequences),
        step.link_kv_bytes * pace / link_share,
        step.link_weight_bytes * pace / link_share,
        request / link_share,
        step.collective_bytes * pace,
        limits.other_link_bytes_per_s,
        engine_cores,
        lookup_cores,
        cores_on_top(plan.host, engine_cores + lookup_cores + limits.other_cores, reading),
        limits.other_cores,
    )
