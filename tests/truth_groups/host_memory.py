"""Host memory that engines and methods were seen to take, and what CPU cores were worth, against kvplan's ledgers."""

from __future__ import annotations

from typing import Any

from kvplan.assess import build_frame
from kvplan.assess.frame import plan_ends
from kvplan.core.decode import decode_step
from kvplan.core.dram import index_bytes, offloaded_kv_bytes
from kvplan.core.placement import place
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import FULL, loads
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.engines.host_memory import PINNED_DENSE, PINNED_EXPERTS, pinned_bytes
from kvplan.strategies import find_strategy
from kvplan.strategies.methods import families_of
from kvplan.units import GIB, gib
from tests.truth_table import TRUTH, Group, Row, lines

NAMES = {
    "pinned": "host memory, pinned KV buffers of vLLM before 0.25",
    "region": "host memory, regions of vLLM",
    "weights": "host memory, weights that vLLM pins (intervals set on these rows)",
    "per-rank": "host memory, sizes for each rank",
    "index": "host memory, hash tables of MagicPIG",
    "kv and index": "host memory, KV and index of RetroInfer and KTransformers",
    "gain": "gain of throughput by CPU cores, NEO on A10G (predicted)",
}


def rows() -> list[dict[str, Any]]:
    return lines("host_memory.jsonl")


def groups() -> list[Group]:
    """One for each kind; what was seen to fit or fail without a figure is a test's business."""
    parts: dict[str, list[Row]] = {}
    for row in rows():
        if "observed_gib" in row or "observed" in row:
            parts.setdefault(row["kind"], []).append(predicted_row(row))
    exact = {"pinned", "region"}
    return [
        Group(NAMES[kind], tuple(found), 0.005 if kind in exact else None, 0.02 if kind in exact else None)
        for kind, found in parts.items()
    ]


def predicted_row(row: dict[str, Any]) -> Row:
    if row["kind"] == "gain":
        return Row(f"NEO, {row['cores']} cores", gains(row), row["observed"], "x")
    return Row(f"{row['id']}, {row['source'].partition(':')[0]}", predicted_gib(row), row["observed_gib"], "GiB")


def predicted_gib(row: dict[str, Any]) -> tuple[float, float, float]:
    """Low, best, high of one row."""
    kind = row["kind"]
    if kind == "pinned":
        one = pinned_bytes(gib(row["asked_gib"]), row["ranks"], row["buffers"]) / GIB
        return one, one, one
    if kind == "weights":
        low, best, high = (PINNED_EXPERTS if row["experts"] else PINNED_DENSE).scaled(row["asked_gib"])
        return low, best, high
    if kind == "per-rank":
        asked = row["asked_gib"] if isinstance(row["asked_gib"], list) else [row["asked_gib"]] * 3
        low, best, high = (float(rank * row["ranks"]) for rank in asked)
        return low, best, high
    if kind == "region":
        words = Words(model="llama3-8b", host="h100-server", gpus=1, engine=row["engine"],
                      kv_offloading_size=row["asked_gib"])  # fmt: skip
        low, best, high = build_frame(resolve(words)).situation.policy.host_pool.told_bytes.scaled(1 / GIB)
        return low, best, high
    return _of_method(row)


def _of_method(row: dict[str, Any]) -> tuple[float, float, float]:
    model = str(TRUTH / "internlm2_5_7b_1m.config.json") if row["model"] == "internlm2" else row["model"]
    words = Words(model=model, host="a100-server", gpus=1, engine="generic",
                  context=row["context"], method=row["method"])  # fmt: skip
    ends = plan_ends(build_frame(resolve(words)), find_strategy(families_of(row["method"])[0]))
    users = float(row.get("users", 1))
    low, best, high = (_host_bytes(end, row, users) / GIB for end in ends)
    return low, best, high


def _host_bytes(plan: Plan, row: dict[str, Any], users: float) -> float:
    placed = place(plan, float(row["context"]), users)
    index = index_bytes(plan, placed, users)
    return index if row["kind"] == "index" else index + offloaded_kv_bytes(plan, placed, users)


def gains(row: dict[str, Any]) -> tuple[float, float, float]:
    """Most tokens/s with attention on the CPU over most without, at the pessimistic, best and optimistic end.

    NEO has an engine of its own, whose one process a GPU attends in turn: no cores are set aside for vLLM's processes.
    """
    words = Words(model="llama3-8b", host="g5.xlarge", context=1225, margin=0.0, users=4, method="neo",
                  cpu_cores=row["cores"], dram_gib=row["dram_gib"], dram_gb_per_s=row["dram_gb_per_s"])  # fmt: skip
    frame = build_frame(resolve(words))
    pairs = zip(*(plan_ends(frame, find_strategy(name)) for name in ("offload-cpu-attention", "hbm")), strict=True)
    high, best, low = (most_tokens_per_s(alone(neo)) / most_tokens_per_s(alone(plain)) for neo, plain in pairs)
    return low, best, high


def alone(plan: Plan) -> Plan:
    """The plan with every core left to attention."""
    return plan._replace(limits=plan.limits._replace(engine_cores=0.0))


def most_tokens_per_s(plan: Plan) -> float:
    """At whatever pace, with as many sequences as memory holds."""
    found, users, context = 0.0, 1.0, 1225.0
    while users < 400.0:
        load = loads(plan, context, users)
        if load.hbm > FULL or load.dram_capacity > FULL:
            break
        found = max(found, users / decode_step(plan, place(plan, context, users), context, users).itl_s)
        users += 1.0
    return found
