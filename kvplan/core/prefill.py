"""Time to the first token of one request on an idle replica."""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.core.decode import attended
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link import link_s, written_s
from kvplan.core.shapes import Plan
from kvplan.core.weights import chosen_expert_share, weight_read_bytes


def prefill_arithmetic_s(plan: Plan, computed_tokens: float, cached_tokens: float) -> float:
    """Time of the arithmetic for ``computed_tokens`` that follow ``cached_tokens``: matrices and attention.

    2 x active elements x tokens + attention over the tokens before (half of them for the new ones among themselves),
    at the rate that prefill reaches.
    """
    model = plan.model
    matrices = 2.0 * model.active_elements * computed_tokens
    before = cached_tokens + computed_tokens / 2.0
    attention = attended(plan, before) * model.prefill_flops_per_pair + before * model.index_flops_per_pair
    return (matrices + computed_tokens * attention) / plan.gpu.prefill_flops


def prefill_collectives_s(plan: Plan, computed_tokens: float, rate_gain: float) -> float:
    """Time of the all-reduces of so many tokens, by their bytes, at ``rate_gain`` times the rate of a decode step."""
    if plan.model.all_reduces == 0.0:
        return 0.0
    rate = plan.gpu.peer_bytes_per_s * rate_gain
    return computed_tokens * plan.model.all_reduce_bytes_per_token / rate


def prefill_s(plan: Plan, computed_tokens: float, cached_tokens: float) -> float:
    """Time to compute ``computed_tokens`` that follow ``cached_tokens``; never less than one pass over the weights."""
    model = plan.model
    arithmetic = prefill_arithmetic_s(plan, computed_tokens, cached_tokens)
    reading = weight_read_bytes(model, computed_tokens) / plan.gpu.weight_bytes_per_s
    busy = max(arithmetic, reading) * model.stages * plan.charges.prefill_factor
    return busy + prefill_collectives_s(plan, computed_tokens, plan.gpu.prefill_peer_gain)


def spilled_passes_s(plan: Plan, placed: Placement, computed_tokens: float) -> float:
    """Time that weights in host memory add: every prefill pass needs all of them over the link once.

    Of experts only those that a pass chooses, which are nearly all. So it is where CPU cores decode with them as well.
    Source: llama.cpp copies operands to the GPU for batches of 32 tokens and more.
    """
    if placed.weights_spilled_bytes == 0.0:
        return 0.0
    model, chunk_tokens = plan.model, plan.limits.prefill_chunk_tokens
    needed = placed.weights_spilled_bytes
    if plan.charges.spills_experts > 0.0:
        needed *= chosen_expert_share(model.experts, model.experts_per_token, min(computed_tokens, chunk_tokens))
    return math.ceil(computed_tokens / chunk_tokens) * model.stages * link_s(plan, 0.0, needed)


def cached_prompt_tokens(plan: Plan, prompt_tokens: float) -> float:
    """Tokens of a prompt that are reloaded from host memory instead of computed; a shared prefix is in HBM already."""
    resident = min(plan.traffic.shared_prefix_tokens, prompt_tokens)
    return max(prompt_tokens * plan.traffic.hit_fraction * plan.charges.reuse - resident, 0.0)


def ttft_s(plan: Plan, placed: Placement, context_tokens: float) -> float:
    """Time to first token: reload of what is cached in DRAM, prefill of the rest, and the fixed times.

    A prefix that the sequences share is in HBM already. New KV that lives in host memory is written while the next
    tokens are computed: the slower of the two counts. reload = hit tokens x KV bytes per token / link rate + a fixed
    time; only ``offload-reuse`` reloads.
    Source: vLLM offloading connector measurements (10 points, 6.2 % mean error).
    """
    prompt = context_tokens * plan.traffic.prompt_fraction
    resident = min(plan.traffic.shared_prefix_tokens, prompt)
    hit = cached_prompt_tokens(plan, prompt)
    reload = 0.0
    if hit > 0.0:
        reload = link_s(plan, growing_bytes(plan.kv, hit), 0.0) + plan.traffic.reload_fixed_s
    cached = hit + resident
    computed = max(prompt - cached, 1.0)
    fixed = plan.gpu.step_overhead_s + plan.gpu.first_token_s + plan.model.moe_layers * plan.gpu.moe_layer_s
    fixed += plan.model.all_reduces * plan.gpu.all_reduce_s
    kept = min(plan.charges.dram_fraction, 1.0) * growing_bytes(plan.kv, computed)
    computing = max(prefill_s(plan, computed, cached), written_s(plan, kept))
    return reload + computing + spilled_passes_s(plan, placed, computed) + fixed
