"""Host memory, line by line: what lies in it, and what goes in and out of it."""

from __future__ import annotations

from kvplan.core.accounts import DramTraffic, Placement, Step
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link_ledger import reloaded_bytes_per_s, written_bytes_per_s
from kvplan.core.shapes import Plan


def reuse_dram_bytes(plan: Plan, context_tokens: float, users: float) -> float:
    """Host memory for KV that comes back: every session that idles, at least one for each user, and the shared prefix.

    Every rank keeps its own KV, a latent (MLA) as often as there are ranks; pinned buffers may be rounded up. Never
    less than the pool that the engine is told to reserve, or without which it does not start: it is pinned at once.
    """
    if plan.charges.reuse == 0.0:
        return 0.0
    sessions = max(plan.traffic.idle_sessions, users) * growing_bytes(plan.kv, context_tokens)
    shared = growing_bytes(plan.kv, min(plan.traffic.shared_prefix_tokens, context_tokens))
    held = (sessions + shared) * plan.traffic.gpus / plan.traffic.replicas * plan.traffic.reuse_factor
    if plan.traffic.reuse_pool_bytes > 0.0:
        held = plan.traffic.reuse_pool_bytes
    return plan.charges.reuse * max(held, plan.traffic.reuse_least_bytes)


def offloaded_kv_bytes(plan: Plan, placed: Placement, users: float) -> float:
    """Host memory of the KV of decoding sequences, over all GPUs of the deployment."""
    gpus_per_replica = plan.traffic.gpus / plan.traffic.replicas
    offloaded = users * gpus_per_replica * plan.charges.dram_fraction * placed.growing_bytes
    return offloaded + placed.kv_spilled_bytes * plan.traffic.gpus


def index_bytes(plan: Plan, placed: Placement, users: float) -> float:
    """Host memory beside that KV: centroids and value sums, hash tables, codes, blocks that are not full."""
    gpus_per_replica = plan.traffic.gpus / plan.traffic.replicas
    return users * gpus_per_replica * plan.charges.dram_index_fraction * placed.growing_bytes


def dram_traffic(plan: Plan, placed: Placement, step: Step, context_tokens: float, sequences: float) -> DramTraffic:
    """Bytes in and out of host memory a second: every copy over a link crosses it once, and cores read in it.

    Cores do not reach the whole rate, so that their bytes are divided by the share that they do.
    """
    everywhere = plan.traffic.gpus * plan.limits.tenants
    pace = everywhere / plan.limits.itl_s
    cpu_share = plan.charges.cpu_rate_fraction
    return DramTraffic(
        step.link_kv_bytes * pace,
        step.link_weight_bytes * pace,
        reloaded_bytes_per_s(plan, context_tokens, sequences) * everywhere,
        written_bytes_per_s(plan, placed, context_tokens, sequences) * everywhere,
        step.cpu_kv_bytes * pace / plan.host.cpu_dram_fraction / cpu_share,
        step.cpu_weight_bytes * pace / plan.host.cpu_weight_fraction / cpu_share,
    )


def all_traffic_bytes_per_s(moved: DramTraffic) -> float:
    """Copies to the GPUs, copies from them and reads of cores together: they share one rate."""
    copies = moved.fetched_kv_bytes_per_s + moved.streamed_weight_bytes_per_s
    copies += moved.reloaded_kv_bytes_per_s + moved.written_kv_bytes_per_s
    return copies + moved.attended_kv_bytes_per_s + moved.multiplied_weight_bytes_per_s
