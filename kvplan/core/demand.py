"""What a plan asks of the four budgets, line by line, at the pace of the ITL objective."""

from __future__ import annotations

from kvplan.core.accounts import Demand, Placement, Step
from kvplan.core.cpu import cores_for, cores_on_top
from kvplan.core.dram import dram_traffic, index_bytes, offloaded_kv_bytes, reuse_dram_bytes
from kvplan.core.link_ledger import link_lines
from kvplan.core.placement import overhead_bytes, sequences_per_replica
from kvplan.core.shapes import Plan


def demand(plan: Plan, placed: Placement, step: Step, context_tokens: float, users: float) -> Demand:
    """Every part of every budget. Tenants like this one multiply what is shared: DRAM, link, cores."""
    limits = plan.limits
    traffic = plan.traffic
    sequences = sequences_per_replica(plan, users)
    pace = limits.tenants / limits.itl_s
    link = link_lines(plan, placed, step, context_tokens, sequences)
    engine_cores = limits.engine_cores * limits.tenants
    lookup_cores = plan.charges.lookup_cores_per_gpu * traffic.gpus * limits.tenants
    reading = cores_for(plan.host, step.cpu_kv_bytes, step.cpu_weight_bytes) * traffic.gpus * pace
    reading /= plan.charges.cpu_rate_fraction
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
        dram_traffic(plan, placed, step, context_tokens, sequences),
        link.kv,
        link.weights,
        link.reloaded,
        link.written,
        link.collectives,
        limits.other_link_bytes_per_s,
        engine_cores,
        lookup_cores,
        cores_on_top(plan.host, engine_cores + lookup_cores + limits.other_cores, reading),
        limits.other_cores,
    )
