"""Random input for any function of the core: a recipe for every name, since names say what they hold and its unit.

A record is made of its fields. A parameter or field that no recipe knows raises ``NoRecipe``, so that a new one cannot
go untested. Edge values (0, 1, just below and above a block, exactly at a limit) come as often as ordinary ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_args, get_origin, get_type_hints

from kvplan.core.accounts import Loads
from kvplan.core.shapes import HostRates, Limits, Plan

Recipe = Callable[[random.Random], float]


class NoRecipe(Exception):
    """A name that this file must learn."""


def among(*values: float) -> Recipe:
    return lambda draw: float(draw.choice(values))


def between(low: float, high: float, *edges: float) -> Recipe:
    """A fifth of the draws are edges."""
    return lambda draw: float(draw.choice(edges)) if edges and draw.random() < 0.2 else draw.uniform(low, high)


def magnitude(low: float, high: float, *edges: float) -> Recipe:
    """10 to a power between the two."""
    return lambda draw: float(draw.choice(edges)) if edges and draw.random() < 0.2 else 10 ** draw.uniform(low, high)


def whole(low: float, high: float, *edges: float) -> Recipe:
    """The same, rounded."""
    real = magnitude(low, high, *edges)
    return lambda draw: float(round(real(draw)))


def tokens(draw: random.Random) -> float:
    edges = (1, 2, 15, 16, 17, 255, 256, 257, 1024, 4096, 131072, 2**20)
    return float(draw.choice(edges)) if draw.random() < 0.5 else float(draw.randint(1, 2**18))


def tokens_or_none(draw: random.Random) -> float:
    return 0.0 if draw.random() < 0.4 else tokens(draw)


FRACTION = between(0, 1, 0, 1, 0.5)
SHARE = between(0, 0.3, 0, 0, 1)
RATIO = between(0, 1.4, 0, 1, 1.0 + 1e-9, 1.0 + 1e-12, 0.95, 1e30)
RATE = magnitude(9, 12.7, 1e30, 1e9, 1e9)
SOME_BYTES = whole(6, 11, 0)
SECONDS = magnitude(-6, -1, 0)
SWITCH = among(0, 1)
USERS = whole(0, 3, 1, 1, 2, 3, 8)

BY_NAME: dict[str, Recipe] = {
    **dict.fromkeys(("tokens", "context_tokens", "computed_tokens", "batched_tokens", "output_tokens"), tokens),
    **dict.fromkeys(("window_tokens", "reserve_tokens", "cached_tokens", "shared_prefix_tokens"), tokens_or_none),
    **dict.fromkeys(("resident_tokens", "read_tokens", "link_tokens", "cpu_tokens"), tokens_or_none),
    **dict.fromkeys(("hbm", "dram_capacity", "dram_bandwidth", "link", "itl", "ttft", "load", "used", "limit"), RATIO),
    **dict.fromkeys(("users", "sequences", "idle_sessions"), USERS),
    **dict.fromkeys(("spills_kv", "spills_weights", "spilled_weights_on_cpu", "reuse", "peer_over_link"), SWITCH),
    **dict.fromkeys(("spills_experts", "spilled_kv_on_cpu"), SWITCH),
    "output_tokens": among(0, 0, 1, 256, 4096),
    "step_tokens": among(1, 16, 256),
    "prefill_chunk_tokens": among(1, 512, 2048, 8192),
    "in_flight_tokens": among(0, 0, 1, 2048, 8192, 16384),
    "block_tokens": among(1, 1, 16, 16, 64, 256),
    "bytes_per_token": whole(3, 6, 0),
    "bytes_per_sequence": whole(3, 8, 0, 0),
    "layers": among(1, 2, 3, 32, 80),
    "experts": among(0, 0, 1, 8, 64, 256),
    "experts_per_token": among(0, 1, 2, 6, 8),
    "moe_layers": among(0, 0, 1, 26, 58),
    "expert_groups": among(1, 1, 2, 8),
    "routing_agreement": among(0, 0, 0.4, 1),
    "expert_surcharge": among(0, 0, 0.4, 2),
    "prompt_tokens": tokens,
    "stages": among(1, 1, 2, 4),
    "gpus": among(1, 1, 2, 8),
    "replicas": among(1, 1, 2, 3, 8),
    "tenants": among(1, 1, 2, 3),
    "nodes": among(1, 2, 8),
    "nodes_in_use": among(1, 2, 8),
    "all_reduces": among(0, 64, 160),
    "all_reduce_bytes_per_token": whole(4, 7, 0),
    "active_elements": whole(8, 11, 0),
    "attention_flops_per_pair": whole(4, 8, 0),
    "prefill_flops_per_pair": whole(4, 8, 0),
    "index_flops_per_pair": whole(4, 7, 0, 0),
    "weight_bytes": whole(9, 11),
    "dense_read_bytes": whole(8, 10.5, 0),
    "hbm_bytes": whole(10, 11.5, 2**34, 1e30),
    "spill_to_bytes": whole(9.5, 11.5, 2**34, 1e30),
    "reuse_pool_bytes": whole(9, 12, 0, 0),
    "reuse_least_bytes": whole(9, 12, 0, 0),
    "reuse_factor": between(1, 2, 1, 1),
    "pinned_weight_factor": between(1, 2, 1, 1),
    "full_cores": among(1, 8, 16, 56, 1e30),
    "lesser_core_worth": between(0.2, 1, 1, 0.4),
    **dict.fromkeys(("prefill_peer_gain", "rate_gain"), between(0.8, 2.5, 1)),
    "taken": between(0, 96, 0, 1),
    "needed": between(0, 96, 0, 1),
    "dram_bytes": whole(10.5, 12.5, 0, 1e30),
    "itl_s": magnitude(-2.5, 0, 0.05),
    "ttft_s": magnitude(-1, 2, 0),
    "prefill_factor": between(1, 1.2, 1),
    "link_rate_fraction": between(0.3, 1, 1),
    "link_out_fraction": between(0.5, 1.1, 1),
    "link_duplex_fraction": between(0.3, 1, 1),
    "copy_tokens": among(0, 0, 0.25, 1, 16, 256),
    "cpu_rate_fraction": between(0.3, 1, 1),
    "kv_rate_fraction": between(0.3, 1, 1),
    "remote_gain": FRACTION,
    "margin_fraction": between(0, 0.3, 0, 0.05),
    "transfer_bytes": whole(3, 8),
    "vocab": whole(4, 5.5),
    "hidden": whole(3, 4.2),
    "intermediate": whole(3, 5, 0),
    "expert_intermediate": whole(2, 4, 0, 0),
    "logit_bytes": among(14.6, 38.1),
    "hidden_copies": among(4, 5),
    "base": FRACTION,
    "exponent": whole(0, 4, 0, 1, 2, 3, 7, 1000),
    "ceiling": whole(0.5, 6, 1, 2, 65536),
    "low": whole(0, 3, 1),
    "high": whole(3, 6),
    "users_ceiling": whole(0.5, 6, 1, 2, 65536),
    "tokens_ceiling": whole(2, 6, 1, 2, 131072),
    "sharers": USERS,
    "guess": whole(0, 5),
    "room": RATIO,
    "excess": RATIO,
    "same_side": among(-3, -2, -1, 0, 1, 2, 3),
    "resident_fraction": SHARE,
    "read_fraction": SHARE,
    "link_fraction": SHARE,
    "cpu_fraction": SHARE,
    "dram_fraction": SHARE,
    "dram_index_fraction": SHARE,
}
"""By the whole name; what is not here goes by its ending."""

BY_ENDING: tuple[tuple[str, Recipe], ...] = (
    (r"(bytes_per_s|flops)$", RATE),
    (r"_fraction$", FRACTION),
    (r"_s(_per_layer)?$", SECONDS),
    (r"(^|_)cores(_per_gpu)?$", between(0, 96, 0, 1)),
    (r"_tokens$", tokens_or_none),
    (r"_bytes$", SOME_BYTES),
)


def recipe(name: str) -> Recipe:
    """How values of that name are drawn."""
    if name in BY_NAME:
        return BY_NAME[name]
    for ending, found in BY_ENDING:
        if re.search(ending, name):
            return found
    raise NoRecipe(f"tests/core/inputs.py has no recipe for {name!r}")


def roomy(plan: Plan, draw: random.Random) -> Plan:
    """The plan on a host with room for a few users at least: drawn freely, hardly any plan fits anywhere."""
    taken = plan.model.weight_bytes + plan.limits.activation_bytes + plan.limits.runtime_bytes + plan.limits.graph_bytes
    host = HostRates(
        link_bytes_per_s=1e13,
        dram_bytes_per_s=1e14,
        cpu_cores=4096.0,
        core_bytes_per_s=3e9,
        cpu_dram_fraction=0.5,
        core_weight_bytes_per_s=8e9,
        cpu_weight_fraction=0.85,
    )
    hbm_bytes = taken + 10 ** draw.uniform(8, 13)
    limits = plan.limits._replace(
        hbm_bytes=hbm_bytes,
        spill_to_bytes=hbm_bytes * draw.choice((1.0, 0.95, draw.uniform(0.5, 1.0))),
        dram_bytes=10 ** draw.uniform(12, 15),
        itl_s=draw.uniform(0.1, 30.0),
        ttft_s=draw.choice((0.0, 1e6)),
        engine_dram_bytes=1e9,
        other_dram_bytes=0.0,
        other_link_bytes_per_s=0.0,
    )
    gpu = plan.gpu._replace(
        weight_bytes_per_s=1e13, kv_bytes_per_s=3e13, decode_flops=1e15, prefill_flops=1e15, peer_bytes_per_s=1e12
    )
    charges = plan.charges._replace(sync_s_per_layer=1e-5)
    return plan._replace(host=host, limits=limits, gpu=gpu, charges=charges)


def sound(limits: Limits, draw: random.Random) -> Limits:
    """What spills leaves a margin: never more than there is."""
    return limits._replace(spill_to_bytes=min(limits.spill_to_bytes, limits.hbm_bytes))


def light(load: Loads, draw: random.Random) -> Loads:
    """Loads that are all inside, some of them exactly full."""
    return Loads(*(min(value, draw.choice((1.0, 0.95, draw.random()))) for value in load))


ALWAYS: dict[Any, Callable[[Any, random.Random], Any]] = {Limits: sound}
"""Records whose fields depend on one another whatever is drawn."""
CALMED: dict[Any, Callable[[Any, random.Random], Any]] = {Plan: roomy, Loads: light}
"""Records that seldom say anything but no when every field is drawn by itself."""


def make(kind: Any, name: str, draw: random.Random) -> Any:
    """A value of an annotation: a float, a record of floats, a tuple of either."""
    if kind is float:
        return recipe(name)(draw)
    if get_origin(kind) is tuple:
        return tuple(make(item, name, draw) for item in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, tuple):
        hints = get_type_hints(kind)
        record = kind(**{field: make(hints[field], field, draw) for field in kind._fields})  # type: ignore[attr-defined]
        record = ALWAYS[kind](record, draw) if kind in ALWAYS else record
        return CALMED[kind](record, draw) if kind in CALMED and draw.random() < 0.6 else record
    raise NoRecipe(f"tests/core/inputs.py cannot make a {kind} for {name!r}")


def arguments(function: FunctionType, draw: random.Random) -> tuple[Any, ...]:
    """Arguments for one call."""
    hints = get_type_hints(function)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return tuple(make(hints[name], name, draw) for name in names)
