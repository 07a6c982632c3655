"""What a closed loop of users gets: as many requests as users at any time, a new one for each that ends."""

from __future__ import annotations

from kvplan.core.decode import decode_step
from kvplan.core.placement import overhead_bytes, place, sequences_per_replica
from kvplan.core.prefill import cached_prompt_tokens, prefill_arithmetic_s, prefill_collectives_s
from kvplan.core.shapes import Plan


def mean_tokens(plan: Plan, context_tokens: float) -> float:
    """Length of a sequence in the middle of its output; the whole context where no output is known."""
    return max(context_tokens - plan.traffic.output_tokens / 2.0, 1.0)


def room_bytes(plan: Plan, context_tokens: float, users: float) -> float:
    """What is free on one GPU with so many users of such a context; below 0 where they do not fit."""
    placed = place(plan, context_tokens, users)
    weights = plan.model.weight_bytes - placed.weights_spilled_bytes
    return plan.limits.hbm_bytes - overhead_bytes(plan) - weights - placed.hbm_kv_bytes


def running_users(plan: Plan, context_tokens: float, users: float) -> float:
    """Users whose sequences are in the cache at once; the rest queue. 0 where not even one on each replica fits.

    KV grows in a straight line with sequences, so that two points tell how many fit.
    """
    room = room_bytes(plan, context_tokens, users)
    if room >= 0.0:
        return users
    replicas = plan.traffic.replicas
    most = sequences_per_replica(plan, users)
    first = room_bytes(plan, context_tokens, replicas)
    if first < 0.0 or most <= 1.0:
        return 0.0
    one = (first - room) / (most - 1.0)
    return min((1.0 + first / one // 1.0) * replicas, users)


def request_prefill_s(plan: Plan, context_tokens: float) -> float:
    """Time that one request's prompt takes from the steps it shares: arithmetic and collectives.

    The weights are read for the decoding sequences anyway.
    """
    prompt = context_tokens * plan.traffic.prompt_fraction
    resident = min(plan.traffic.shared_prefix_tokens, prompt)
    cached = cached_prompt_tokens(plan, prompt) + resident
    computed = max(prompt - cached, 0.0)
    busy = prefill_arithmetic_s(plan, computed, cached) * plan.model.stages * plan.charges.prefill_factor
    return busy + prefill_collectives_s(plan, computed, 1.0)


def output_token_s(plan: Plan, context_tokens: float, users: float) -> float:
    """Mean time between two tokens of one sequence while others come and go.

    T = step at the mean length + w x (sequences - 1) x t_prefill / output tokens: while a sequence writes its output,
    every other one of its replica is replaced once, and a share w of those prefills is in its way.
    """
    mean = mean_tokens(plan, context_tokens)
    step = decode_step(plan, place(plan, mean, users), mean, users)
    if plan.traffic.output_tokens == 0.0:
        return step.itl_s
    others = sequences_per_replica(plan, users) - 1.0
    waits = plan.traffic.prefill_wait_fraction * others / plan.traffic.output_tokens
    return step.itl_s + waits * request_prefill_s(plan, context_tokens)


def tokens_per_s(plan: Plan, context_tokens: float, users: float) -> float:
    """Tokens that all running users get in a second; 0 where nobody runs."""
    running = running_users(plan, mean_tokens(plan, context_tokens), users)
    if running <= 0.0:
        return 0.0
    return running / output_token_s(plan, context_tokens, running)
