"""What cached prefixes are worth to a replica that takes in prompts."""

from __future__ import annotations

from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link import link_s
from kvplan.core.prefill import prefill_arithmetic_s, prefill_collectives_s
from kvplan.core.shapes import Plan


def intake_s(plan: Plan, prompt_tokens: float, hit_fraction: float) -> float:
    """Time of one prompt among many: what is computed and what is reloaded add up, since both wait for one another.

    Many short prompts share a pass over the weights, so that arithmetic alone counts.
    Source: vLLM offloading connector, prefill rate at hit fractions of 0 to 100 %: the sum fits, the longer of the two
    would promise up to twice as much.
    """
    reloaded = prompt_tokens * hit_fraction
    computed = prompt_tokens - reloaded
    computing = prefill_arithmetic_s(plan, computed, reloaded) * plan.model.stages * plan.charges.prefill_factor
    collectives = prefill_collectives_s(plan, computed, plan.gpu.prefill_peer_gain)
    return computing + collectives + link_s(plan, growing_bytes(plan.kv, reloaded), 0.0)


def intake_tokens_per_s(plan: Plan, prompt_tokens: float, hit_fraction: float) -> float:
    """Prompt tokens that a replica takes in when it does nothing else."""
    return prompt_tokens / intake_s(plan, prompt_tokens, hit_fraction)
