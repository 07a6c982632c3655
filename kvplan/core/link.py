"""The CPU-GPU link: what copies of a size reach, each direction by itself and both at once."""

from __future__ import annotations

from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.core.shapes import Plan


def achieved_bytes_per_s(largest_bytes_per_s: float, copy_bytes: float, copy_s: float) -> float:
    """Rate of copies of one size: every copy costs a fixed time beside its bytes.

    largest x s / (s + s_half), where s_half = largest x copy_s. Copies without a size (0) are large ones.
    Source: vLLM's transfer curves on H100, 4 KiB to 16 MiB, copy engine and gather kernel, both directions.
    """
    if copy_bytes <= 0.0:
        return largest_bytes_per_s
    return largest_bytes_per_s * copy_bytes / (copy_bytes + largest_bytes_per_s * copy_s)


def copy_bytes(plan: Plan) -> float:
    """Bytes that one copy of KV moves on one GPU, as the strategy and the engine's block layout have it; 0: large."""
    return plan.charges.copy_tokens * growing_bytes_per_token(plan.kv)


def large_copy_bytes_per_s(plan: Plan) -> float:
    """What this strategy's largest copies reach to one GPU, which has the link to itself."""
    return plan.host.link_bytes_per_s * plan.charges.link_rate_fraction


def kv_in_bytes_per_s(plan: Plan) -> float:
    """Rate at which KV comes from host memory to one GPU."""
    return achieved_bytes_per_s(large_copy_bytes_per_s(plan), copy_bytes(plan), plan.charges.copy_s)


def kv_out_bytes_per_s(plan: Plan) -> float:
    """Rate at which KV goes from one GPU to host memory."""
    largest = large_copy_bytes_per_s(plan) * plan.host.link_out_fraction
    return achieved_bytes_per_s(largest, copy_bytes(plan), plan.charges.copy_s)


def other_direction_share(plan: Plan) -> float:
    """What a byte of the quieter direction costs beside the busier one, as a share of a byte.

    Both at once reach ``link_duplex_fraction`` of their rates: with as much either way the time grows by its inverse.
    A link that gives no more both ways than one way adds the two up.
    """
    return min(1.0 / plan.host.link_duplex_fraction - 1.0, 1.0)


def link_s(plan: Plan, kv_bytes: float, weight_bytes: float) -> float:
    """Time that KV and weights take over one GPU's link to it, shared with the other tenants."""
    total = 0.0
    if kv_bytes > 0.0:
        total += kv_bytes / kv_in_bytes_per_s(plan)
    if weight_bytes > 0.0:
        total += weight_bytes / large_copy_bytes_per_s(plan)
    return total * plan.limits.tenants


def written_s(plan: Plan, kv_bytes: float) -> float:
    """Time that new KV takes to host memory, shared with the other tenants."""
    if kv_bytes <= 0.0:
        return 0.0
    return kv_bytes * plan.limits.tenants / kv_out_bytes_per_s(plan)
