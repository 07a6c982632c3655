"""The inputs that a plan rests on, by name: drawn inside their intervals, or one of them off by a share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.core.answers import Ends
from kvplan.core.shapes import Plan

RECORDS = ("model", "charges", "gpu", "host", "limits", "traffic")


class PlanInput(NamedTuple):
    """One input: fields of a plan that are off together."""

    name: str
    fields: tuple[str, ...]
    """``record.field``."""
    is_share: bool = False
    """At most 1."""
    drawn: bool = True
    """It has an interval of its own; else it is a setting, or made of others."""


NAMED = (
    PlanInput("usable GPU memory", ("limits.hbm_bytes", "limits.spill_to_bytes")),
    PlanInput("weights", ("model.weight_bytes", "model.dense_read_bytes", "model.expert_bytes")),
    PlanInput("activations", ("limits.activation_bytes",)),
    PlanInput("runtime and graphs", ("limits.runtime_bytes", "limits.graph_bytes")),
    PlanInput("rate of GPU memory", ("gpu.weight_bytes_per_s", "gpu.kv_bytes_per_s"), drawn=False),
    PlanInput("rate of reading weights", ("gpu.weight_bytes_per_s",)),
    PlanInput("rate of reading KV", ("gpu.kv_bytes_per_s",)),
    PlanInput("matrix rate in decode", ("gpu.decode_flops",)),
    PlanInput("matrix rate in prefill", ("gpu.prefill_flops",)),
    PlanInput("fixed time of a step", ("gpu.step_overhead_s",)),
    PlanInput("time of an all-reduce", ("gpu.all_reduce_s",)),
    PlanInput("rate between GPUs", ("gpu.peer_bytes_per_s",)),
    PlanInput("fixed time of a layer of experts", ("gpu.moe_layer_s",)),
    PlanInput("fixed time before the first token", ("gpu.first_token_s",)),
    PlanInput("CPU-GPU link rate", ("host.link_bytes_per_s",)),
    PlanInput("DRAM rate", ("host.dram_bytes_per_s",)),
    PlanInput("CPU cores", ("host.cpu_cores",)),
    PlanInput("KV that one core reads", ("host.core_bytes_per_s",)),
    PlanInput("DRAM rate that CPU attention reaches", ("host.cpu_dram_fraction",), is_share=True),
    PlanInput("weights that one core reads", ("host.core_weight_bytes_per_s",)),
    PlanInput("DRAM rate that CPU multiplication reaches", ("host.cpu_weight_fraction",), is_share=True),
    PlanInput("host memory", ("limits.dram_bytes",)),
    PlanInput("host memory of the engine", ("limits.engine_dram_bytes",)),
    PlanInput("CPU cores of the engine", ("limits.engine_cores",)),
    PlanInput("memory set aside for states", ("limits.state_pool_bytes",)),
    PlanInput("objective for the time per token", ("limits.itl_s",)),
    PlanInput("objective for the first token", ("limits.ttft_s",)),
    PlanInput("share of prompts found in DRAM", ("traffic.hit_fraction",), is_share=True),
    PlanInput("KV fetched over the link (its hits)", ("charges.link_fraction", "charges.link_tokens")),
    PlanInput("KV kept in GPU memory", ("charges.resident_fraction", "charges.resident_tokens")),
    PlanInput("KV that attention reads", ("charges.read_fraction", "charges.read_tokens")),
    PlanInput("KV that CPU cores read", ("charges.cpu_fraction", "charges.cpu_tokens")),
    PlanInput("synchronization of a layer", ("charges.sync_s_per_layer",)),
    PlanInput("part that does not overlap", ("charges.serial_fraction",), is_share=True),
    PlanInput("link rate at its transfer size", ("charges.link_rate_fraction",), is_share=True),
    PlanInput("rate of its CPU work", ("charges.cpu_rate_fraction",)),
    PlanInput("rate of the KV kernel", ("charges.kv_rate_fraction",)),
    PlanInput("host memory a byte of KV", ("charges.dram_fraction",)),
    PlanInput("look-up cores", ("charges.lookup_cores_per_gpu",)),
)
"""What has no name here goes by its field's."""

_OWNER = {field: item for item in NAMED if item.drawn for field in item.fields}


def owner_of(field: str) -> PlanInput:
    """The input that a field belongs to when all are drawn."""
    return _OWNER.get(field) or PlanInput(field.partition(".")[2].replace("_", " "), (field,))


class Spread(NamedTuple):
    """A field of a plan whose three ends differ."""

    record: str
    field: str
    input: str
    ends: tuple[float, float, float]


def spreads(ends: Ends) -> tuple[Spread, ...]:
    """Every field in which the optimistic, the best and the pessimistic plan differ."""
    found = []
    for record in RECORDS:
        low, best, high = (getattr(end, record) for end in ends)
        for field, three in zip(low._fields, zip(low, best, high, strict=True), strict=True):
            if three[0] != three[1] or three[1] != three[2]:
                found.append(Spread(record, field, owner_of(f"{record}.{field}").name, three))
    return tuple(found)


def placed_at(ends: tuple[float, float, float], position: float) -> float:
    """Between the optimistic end (-1), the best estimate (0) and the pessimistic end (1), straight on either side."""
    toward = ends[0] if position < 0.0 else ends[2]
    return ends[1] + abs(position) * (toward - ends[1])


def drawn_plan(best: Plan, varying: Sequence[Spread], positions: Mapping[str, float]) -> Plan:
    """The plan with every uncertain input at its position."""
    changes: dict[str, dict[str, float]] = {}
    for record, field, name, ends in varying:
        changes.setdefault(record, {})[field] = placed_at(ends, positions[name])
    records = {record: getattr(best, record)._replace(**values) for record, values in changes.items()}
    return best._replace(**records)


def scaled_plan(best: Plan, item: PlanInput, factor: float) -> Plan:
    """The best plan with one input off."""
    for path in item.fields:
        name, _, field = path.partition(".")
        record = getattr(best, name)
        value = getattr(record, field) * factor
        changed = record._replace(**{field: min(value, 1.0) if item.is_share else value})
        best = best._replace(**{name: changed})
    return best


def triangular(uniform: float) -> float:
    """A draw from [0, 1) as a position in [-1, 1]: likeliest at the best estimate, as likely on either side of it."""
    if uniform < 0.5:
        return math.sqrt(2.0 * uniform) - 1.0
    return 1.0 - math.sqrt(2.0 * (1.0 - uniform))
