"""What a plan asks of the four budgets, line by line, at the pace of the ITL objective."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.core.accounts import Demand, Placement, Step
from kvplan.core.cpu import cores_for
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link import kv_in_bytes_per_s, kv_out_bytes_per_s, other_direction_share
from kvplan.core.placement import overhead_bytes, sequences_per_replica
from kvplan.core.shapes import Plan


def requests_per_s(plan: Plan, sequences: float) -> float:
    """Requests that one replica finishes and starts at the ITL objective; 0 where output lengths are not known."""
    if plan.traffic.output_tokens == 0.0:
        return 0.0
    return sequences / (plan.traffic.output_tokens * plan.limits.itl_s)


def reloaded_bytes_per_s(plan: Plan, context_tokens: float, sequences: float) -> float:
    """Prefixes that starting requests bring back to one GPU."""
    known = context_tokens * plan.traffic.prompt_fraction * plan.traffic.hit_fraction
    return plan.charges.reuse * requests_per_s(plan, sequences) * growing_bytes(plan.kv, known)


def written_bytes_per_s(plan: Plan, placed: Placement, context_tokens: float, sequences: float) -> float:
    """New KV that leaves one GPU for host memory: of prompts, and of every token where active KV lives there.

    Engines that keep idle prefixes store the prompt's blocks only. What spills is written as its share of the whole.
    """
    charges = plan.charges
    active = min(charges.dram_fraction, 1.0)
    if placed.kv_spilled_bytes > 0.0:
        active = placed.kv_spilled_bytes / (sequences * placed.growing_bytes)
    new = context_tokens * plan.traffic.prompt_fraction * (1.0 - plan.traffic.hit_fraction)
    prompts = min(active + charges.reuse, 1.0) * requests_per_s(plan, sequences) * growing_bytes(plan.kv, new)
    return prompts + active * sequences * placed.token_bytes / plan.limits.itl_s


class LinkLines(NamedTuple):
    """What one GPU's link is asked for, at the rate of large copies."""

    kv: float
    weights: float
    reloaded: float
    written: float
    collectives: float


def link_lines(plan: Plan, step: Step, reloaded: float, written: float) -> LinkLines:
    """Every line of the link, for all tenants: bytes at the pace of the objective, stretched by the size of its copies.

    The quieter direction costs what it takes from the busier one. All-reduces send and receive at once.
    """
    tenants, pace = plan.limits.tenants, plan.limits.tenants / plan.limits.itl_s
    stretch = plan.host.link_bytes_per_s / kv_in_bytes_per_s(plan)
    kv, reloads = step.link_kv_bytes * pace * stretch, reloaded * tenants * stretch
    weights = step.link_weight_bytes * pace / plan.charges.link_rate_fraction
    writes = written * tenants * plan.host.link_bytes_per_s / kv_out_bytes_per_s(plan)
    beside, into = other_direction_share(plan), kv + weights + reloads
    inward, outward = (1.0, beside) if into >= writes else (beside, 1.0)
    collectives = step.collective_bytes * pace / plan.host.link_duplex_fraction
    return LinkLines(kv * inward, weights * inward, reloads * inward, writes * outward, collectives)


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
    reloaded = reloaded_bytes_per_s(plan, context_tokens, sequences)
    written = written_bytes_per_s(plan, placed, context_tokens, sequences)
    link = link_lines(plan, step, reloaded, written)
    cpu_kv_rate = step.cpu_kv_bytes * traffic.gpus * pace
    cpu_weight_rate = step.cpu_weight_bytes * traffic.gpus * pace
    cpu_share = plan.charges.cpu_rate_fraction
    copies = (step.link_kv_bytes + step.link_weight_bytes) * pace + (reloaded + written) * limits.tenants
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
