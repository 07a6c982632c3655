"""What a plan asks of the four budgets, line by line, at the pace of the ITL objective."""

from __future__ import annotations

from kvplan.core.accounts import Demand, Placement, Step
from kvplan.core.cpu import cores_for
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link_ledger import link_lines, reloaded_bytes_per_s, written_bytes_per_s
from kvplan.core.placement import overhead_bytes, sequences_per_replica
from kvplan.core.shapes import Plan


def reuse_dram_bytes(plan: Plan, context_tokens: float, users: float) -> float:
    """Host memory for KV that comes back: every session that idles, at least one for each user, and the shared prefix.

    Every rank keeps its own KV. At least the pool that the engine is told to reserve: it is pinned at start-up.
    """
    sessions = max(plan.traffic.idle_sessions, users) * growing_bytes(plan.kv, context_tokens)
    shared = growing_bytes(plan.kv, min(plan.traffic.shared_prefix_tokens, context_tokens))
    held = (sessions + shared) * plan.traffic.gpus / plan.traffic.replicas
    if plan.traffic.reuse_pool_bytes > 0.0:
        held = plan.traffic.reuse_pool_bytes
    return plan.charges.reuse * held


def dram_kv_bytes(plan: Plan, placed: Placement, users: float) -> float:
    """Host memory of the KV of decoding sequences, over all GPUs of the deployment."""
    gpus_per_replica = plan.traffic.gpus / plan.traffic.replicas
    offloaded = users * gpus_per_replica * plan.charges.dram_fraction * placed.growing_bytes
    return offloaded + placed.kv_spilled_bytes * plan.traffic.gpus


def demand(plan: Plan, placed: Placement, step: Step, context_tokens: float, users: float) -> Demand:
    """Every part of every budget. Tenants like this one multiply what is shared: DRAM, link, cores."""
    limits = plan.limits
    traffic = plan.traffic
    sequences = sequences_per_replica(plan, users)
    pace = limits.tenants / limits.itl_s
    link = link_lines(plan, placed, step, context_tokens, sequences)
    cpu_kv_rate = step.cpu_kv_bytes * traffic.gpus * pace
    cpu_weight_rate = step.cpu_weight_bytes * traffic.gpus * pace
    cpu_share = plan.charges.cpu_rate_fraction
    requests = reloaded_bytes_per_s(plan, context_tokens, sequences)
    requests += written_bytes_per_s(plan, placed, context_tokens, sequences)
    copies = (step.link_kv_bytes + step.link_weight_bytes) * pace + requests * limits.tenants
    return Demand(
        plan.model.weight_bytes - placed.weights_spilled_bytes,
        placed.hbm_kv_bytes,
        overhead_bytes(plan),
        dram_kv_bytes(plan, placed, users) * limits.tenants,
        placed.weights_spilled_bytes * traffic.gpus * limits.tenants,
        reuse_dram_bytes(plan, context_tokens, users) * limits.tenants,
        limits.engine_dram_bytes * limits.tenants,
        limits.other_dram_bytes,
        copies * traffic.gpus,
        (cpu_kv_rate / plan.host.cpu_dram_fraction + cpu_weight_rate / plan.host.cpu_weight_fraction) / cpu_share,
        link.kv,
        link.weights,
        link.reloaded,
        link.written,
        link.collectives,
        limits.other_link_bytes_per_s,
        limits.engine_cores * limits.tenants,
        plan.charges.lookup_cores_per_gpu * traffic.gpus * limits.tenants,
        cores_for(plan.host, cpu_kv_rate, cpu_weight_rate) / cpu_share,
        limits.other_cores,
    )
