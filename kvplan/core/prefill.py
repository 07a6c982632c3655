"""Time to the first token of one request on an idle replica."""

from __future__ import annotations

from kvplan.core.kv_cache import growing_bytes
from kvplan.core.shapes import Plan
from kvplan.core.weights import weight_read_bytes


def prefill_s(plan: Plan, computed_tokens: float, cached_tokens: float) -> float:
    """Time to compute ``computed_tokens`` that follow ``cached_tokens``: matrices, attention, and reading the weights.

    2 x active elements x tokens + attention over the tokens before (half of them for the new ones among themselves),
    at the rate that prefill reaches; never less than one pass over the weights.
    """
    model = plan.model
    matrices = 2.0 * model.active_elements * computed_tokens
    pairs = computed_tokens * (cached_tokens + computed_tokens / 2.0)
    arithmetic = (matrices + pairs * model.prefill_flops_per_pair) / plan.gpu.prefill_flops
    reading = weight_read_bytes(model, computed_tokens) / plan.gpu.weight_bytes_per_s
    collectives = 0.0
    if model.all_reduces > 0.0:
        collectives = computed_tokens * model.all_reduce_bytes_per_token / plan.gpu.peer_bytes_per_s
    return max(arithmetic, reading) * model.stages * plan.charges.prefill_factor + collectives


def ttft_s(plan: Plan, context_tokens: float) -> float:
    """Time to first token: reload of what is cached in DRAM, prefill of the rest, one step's overhead.

    reload = hit tokens x KV bytes per token / link rate + a fixed time. Only ``offload-reuse`` reloads.
    Source: vLLM offloading connector measurements (10 points, 6.2 % mean error).
    """
    prompt = context_tokens * plan.traffic.prompt_fraction
    hit = prompt * plan.traffic.hit_fraction * plan.charges.reuse
    reload = 0.0
    if hit > 0.0:
        rate = plan.host.link_bytes_per_s * plan.charges.link_rate_fraction / plan.limits.tenants
        reload = growing_bytes(plan.kv, hit) / rate + plan.traffic.reload_fixed_s
    return reload + prefill_s(plan, prompt - hit, hit) + plan.gpu.step_overhead_s
