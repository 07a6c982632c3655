"""What a plan asks of one GPU's link, line by line, at the pace of the ITL objective."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.core.accounts import Placement, Step
from kvplan.core.kv_cache import growing_bytes
from kvplan.core.link import kv_in_bytes_per_s, kv_out_bytes_per_s, other_direction_share
from kvplan.core.shapes import Plan


def requests_per_s(plan: Plan, sequences: float) -> float:
    """Requests that one replica finishes and starts at the ITL objective; 0 where output lengths are not known."""
    if plan.traffic.output_tokens == 0.0:
        return 0.0
    return sequences / (plan.traffic.output_tokens * plan.limits.itl_s)


def reloaded_bytes_per_s(plan: Plan, context_tokens: float, sequences: float) -> float:
    """Prefixes that starting requests bring back to one GPU."""
    if plan.charges.reuse == 0.0 or plan.traffic.hit_fraction == 0.0:
        return 0.0
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
    prompts = 0.0
    if plan.traffic.output_tokens > 0.0 and active + charges.reuse > 0.0:
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


def link_lines(plan: Plan, placed: Placement, step: Step, context_tokens: float, sequences: float) -> LinkLines:
    """Every line of the link, for all tenants: bytes at the pace of the objective, stretched by the size of its copies.

    The quieter direction costs what it takes from the busier one. All-reduces send and receive at once.
    """
    tenants, pace = plan.limits.tenants, plan.limits.tenants / plan.limits.itl_s
    stretch = plan.host.link_bytes_per_s / kv_in_bytes_per_s(plan)
    kv = step.link_kv_bytes * pace * stretch
    reloads = reloaded_bytes_per_s(plan, context_tokens, sequences) * tenants * stretch
    weights = step.link_weight_bytes * pace / plan.charges.link_rate_fraction
    written = written_bytes_per_s(plan, placed, context_tokens, sequences)
    writes = written * tenants * plan.host.link_bytes_per_s / kv_out_bytes_per_s(plan)
    beside, into = other_direction_share(plan), kv + weights + reloads
    inward, outward = (1.0, beside) if into >= writes else (beside, 1.0)
    collectives = step.collective_bytes * pace / plan.host.link_duplex_fraction
    return LinkLines(kv * inward, weights * inward, reloads * inward, writes * outward, collectives)
