"""Where the bytes lie: HBM first, and what a strategy may spill goes to host memory."""

from __future__ import annotations

from kvplan.core.accounts import Placement
from kvplan.core.kv_cache import (
    bounded_bytes,
    bounded_read_bytes,
    fixed_bytes,
    growing_bytes,
    growing_bytes_per_token,
    growing_read_bytes,
    in_flight_bytes,
)
from kvplan.core.shapes import Plan


def overhead_bytes(plan: Plan) -> float:
    """HBM that neither weights nor KV use: activations, runtime, captured graphs."""
    return plan.limits.activation_bytes + plan.limits.runtime_bytes + plan.limits.graph_bytes


def sequences_per_replica(plan: Plan, users: float) -> float:
    """Sequences on the fullest replica."""
    replicas = plan.traffic.replicas
    return float((users + replicas - 1.0) // replicas)


def growing_resident_bytes(plan: Plan, context_tokens: float, sequences: float) -> float:
    """Resident share of all growing KV; a prefix that the sequences share is there once."""
    if plan.charges.resident_fraction == 0.0:
        return 0.0
    again = 0.0
    if plan.traffic.shared_prefix_tokens > 0.0 and sequences > 1.0:
        shared_tokens = min(plan.traffic.shared_prefix_tokens, context_tokens)
        again = (sequences - 1.0) * growing_bytes(plan.kv, shared_tokens)
    return plan.charges.resident_fraction * (sequences * growing_bytes(plan.kv, context_tokens) - again)


def resident_kv_bytes(plan: Plan, context_tokens: float, sequences: float) -> float:
    """KV (or index and cache of it) that the strategy keeps in HBM: growing share, tokens, windows, in flight.

    What is set aside for states and not filled is gone all the same.
    """
    kept_tokens = min(plan.charges.resident_tokens, context_tokens)
    one = kept_tokens * growing_bytes_per_token(plan.kv) + bounded_bytes(plan.kv, context_tokens)
    in_flight = in_flight_bytes(plan.kv, context_tokens, sequences)
    unused = max(plan.limits.state_pool_bytes - sequences * fixed_bytes(plan.kv), 0.0)
    return growing_resident_bytes(plan, context_tokens, sequences) + sequences * one + in_flight + unused


def experts_spilled_bytes(plan: Plan, moved_bytes: float) -> float:
    """Routed experts that one GPU leaves in host memory so that ``moved_bytes`` find a place; one layer's at least.

    With none it would be no expert offload. Parts of a layer are counted as parts: an engine that moves whole layers
    leaves up to one layer's room.
    """
    model = plan.model
    if model.moe_layers == 0.0:
        return 0.0
    one_layer = model.expert_bytes * min(model.stages / model.moe_layers, 1.0)
    return min(max(moved_bytes, one_layer), model.expert_bytes) * plan.charges.spills_experts


def place(plan: Plan, context_tokens: float, users: float) -> Placement:
    """Bytes on one GPU for so many users of such a context, and what spills.

    Weights spill before KV does, each only where the strategy allows it.
    """
    sequences = sequences_per_replica(plan, users)
    kv = resident_kv_bytes(plan, context_tokens, sequences)
    growing = growing_bytes(plan.kv, context_tokens)
    excess = max(overhead_bytes(plan) + plan.model.weight_bytes + kv - plan.limits.spill_to_bytes, 0.0)
    moved = max(excess, plan.limits.offloaded_weight_bytes)
    weights_spilled = min(moved, plan.model.weight_bytes) * plan.charges.spills_weights
    weights_spilled += experts_spilled_bytes(plan, moved)
    excess -= weights_spilled
    kv_spilled = 0.0
    if plan.charges.spills_kv > 0.0 and excess > 0.0:
        # two layers' worth of the streamed KV is in HBM at any time: one in use, one arriving
        streamed = 1.0 - plan.charges.spilled_kv_on_cpu
        buffered = 1.0 - streamed * min(2.0 * plan.model.stages / plan.model.layers, 0.5)
        kv_spilled = min(excess / buffered, growing_resident_bytes(plan, context_tokens, sequences))
        kv -= kv_spilled * buffered
    return Placement(
        growing,
        growing_read_bytes(plan.kv, context_tokens),
        growing_bytes_per_token(plan.kv),
        bounded_bytes(plan.kv, context_tokens),
        bounded_read_bytes(plan.kv, context_tokens),
        kv,
        weights_spilled,
        kv_spilled,
    )
