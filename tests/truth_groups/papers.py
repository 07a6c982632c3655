"""The papers' own rows: steps, first tokens, copies, capacities, by family of strategies.

A row states its set-up in kvplan's words and what was published. Constants may be set on rows marked ``fitted`` only;
those marked ``held out`` are predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kvplan.assess import build_frame
from kvplan.assess.frame import Frame, plan_ends
from kvplan.core.answers import Ends
from kvplan.core.decode import decode_step
from kvplan.core.kv_cache import growing_bytes, growing_bytes_per_token
from kvplan.core.link import achieved_bytes_per_s, copy_bytes, kv_in_bytes_per_s
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.reuse import intake_tokens_per_s
from kvplan.core.shapes import HostRates, Plan
from kvplan.core.verdicts import most_users
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.strategies import find_strategy
from kvplan.strategies.methods.copies import COPY_ENGINE, GATHER_KERNEL
from kvplan.units import GB, GIB, KIB
from tests import truth_table

Row = dict[str, Any]
Three = tuple[float, float, float]
_SHORT, _LONG = 8000, 120_000
"""Contexts between which a published line is compared."""
CONFIGS = {"internlm2": "internlm2_5_7b_1m", **{name: name for name in (
    "glm4_9b_1m", "yi_9b_200k", "llama2_7b_32k", "codellama_13b")}}  # fmt: skip

BARS: dict[str, dict[str, float]] = {
    "KV capacities": {"most_median": 0.005, "most_p90": 0.02},
    "dense and quantized decode": {"most_median": 0.10, "most_p90": 0.25},
    "link curves": {"most_median": 0.05},
    "reload TTFT and prefill with hits": {"most_median": 0.10, "least_inside": 0.85},
    "CPU attention": {"most_median": 0.12, "least_inside": 0.85},
    "retrieval": {"least_inside": 0.85},
    "sparse attention on the GPU (Quest)": {},
}
"""Halves of a family are held to the same bars."""
WIDEST_RETRIEVAL = 2.4


@cache
def _frame(words: Words, experts_per_token: int = 0) -> Frame:
    deployment = resolve(words)
    if experts_per_token and deployment.model.experts is not None:
        experts = deployment.model.experts._replace(experts_per_token=experts_per_token)
        deployment = deployment._replace(model=deployment.model._replace(experts=experts))
    return build_frame(deployment)


def frame_of(row: Row, **changed: Any) -> Frame:
    """The set-up of a row."""
    given = {name: row[name] for name in Words._fields if name in row} | changed
    given["model"] = str(truth_table.TRUTH / f"{CONFIGS[row['model']]}.config.json") if row["model"] in CONFIGS else (
        row["model"])  # fmt: skip
    return _frame(Words(**given), row.get("experts_per_token", 0))


def ends_of(row: Row, **changed: Any) -> Ends:
    strategy = changed.pop("strategy", row.get("strategy", "hbm"))
    found: Ends = plan_ends(frame_of(row, **changed), find_strategy(strategy))
    if "chosen_tokens" not in row:
        return found
    low, best, high = (with_chosen(plan, row["chosen_tokens"]) for plan in found)
    return low, best, high


def with_chosen(plan: Plan, tokens: float) -> Plan:
    """Quest, whose default chooses 2048 tokens, or KTransformers (4096 for the CPU) with another number of them."""
    charges = plan.charges
    if charges.cpu_tokens:
        return plan._replace(charges=charges._replace(cpu_tokens=charges.cpu_tokens * tokens / 4096.0))
    return plan._replace(charges=charges._replace(read_tokens=charges.read_tokens * tokens / 2048.0))


def itl_s(plan: Plan, context: float, users: float) -> float:
    return decode_step(plan, place(plan, context, users), context, users).itl_s


def three(ends: Ends, figure: Callable[[Plan], float]) -> Three:
    """A figure at the three ends, the smaller one first."""
    first, best, last = (figure(plan) for plan in ends)
    return min(first, last), best, max(first, last)


def step(row: Row) -> Three:
    context, users = float(row["context"]), float(row["users"])
    return three(ends_of(row), lambda plan: 1e3 * itl_s(plan, context, users))


def lines(row: Row) -> tuple[list[float], list[float]]:
    """Slopes (ms a token) and intercepts (ms) of the three ends."""
    pairs = [[1e3 * itl_s(plan, float(tokens), 1.0) for tokens in (_SHORT, _LONG)]
             for plan in ends_of(row, context=_LONG)]  # fmt: skip
    slopes = [(long - short) / (_LONG - _SHORT) for short, long in pairs]
    return slopes, [short - _SHORT * slope for (short, _), slope in zip(pairs, slopes, strict=True)]


def slope(row: Row) -> Three:
    low, best, high = (1e6 * value for value in lines(row)[0])
    return low, best, high


def intercept(row: Row) -> Three:
    low, best, high = lines(row)[1]
    return low, best, high


def step_ratio(row: Row) -> Three:
    context, users = float(row["context"]), float(row["users"])
    pairs = zip(ends_of(row), ends_of(row, strategy="hbm"), strict=True)
    low, best, high = (itl_s(one, context, users) / itl_s(base, context, users) for one, base in pairs)
    return min(low, high), best, max(low, high)


def throughput_ratio(row: Row) -> Three:
    """Tokens/s with so many users against those of the baseline with its own."""
    context, users, base_users = float(row["context"]), float(row["users"]), float(row["base_users"])
    base_ends = ends_of(row, strategy=row.get("base_strategy", row["strategy"]))
    rates = [users / itl_s(plan, context, users) for plan in ends_of(row)]
    base = [base_users / itl_s(plan, context, base_users) for plan in base_ends]
    return rates[2] / base[1], rates[1] / base[1], rates[0] / base[1]


def gpu_idle(row: Row) -> Three:
    context, users = float(row["context"]), float(row["users"])
    steps = [decode_step(plan, place(plan, context, users), context, users) for plan in ends_of(row)]
    low, best, high = (1.0 - one.gpu_s / one.itl_s for one in steps)
    return low, best, high


def gain(row: Row) -> Three:
    """Most tokens/s over all numbers of users, against those that fit on the GPU alone; both fill it to the byte."""
    context = float(row["context"])
    found = []
    for plan, alone in zip(ends_of(row), ends_of(row, strategy="hbm"), strict=True):
        patient = alone._replace(limits=alone.limits._replace(itl_s=10.0))
        users = int(most_users(patient, context, 4096.0))
        full = plan._replace(limits=plan.limits._replace(spill_to_bytes=plan.limits.hbm_bytes))
        best = max(n / itl_s(full, context, float(n)) for n in range(users, 4 * users))
        found.append(best * itl_s(alone, context, float(users)) / users)
    return min(found), found[1], max(found)


def ttft(row: Row) -> Three:
    context = float(row["context"])
    return three(ends_of(row), lambda plan: 1e3 * ttft_s(plan, place(plan, context, 1.0), context))


def intake(row: Row) -> Three:
    return three(ends_of(row), lambda plan: intake_tokens_per_s(plan, float(row["context"]), row["hit"]) / 1e3)


def host_rates() -> HostRates:
    return ends_of({"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": 8192})[1].host


def copy(row: Row) -> Three:
    """GB/s of copies of one size on PCIe 5, one way."""
    way = GATHER_KERNEL if row["by"] == "kernel" else COPY_ENGINE
    host, out = host_rates(), row["way"] == "out"
    rates = []
    for fraction, fixed_s in zip(way.link_rate_fraction, reversed(way.copy_s), strict=True):
        largest = host.link_bytes_per_s * fraction * (host.link_out_fraction if out else 1.0)
        rates.append(achieved_bytes_per_s(largest, row["kib"] * KIB, fixed_s) / GB)
    low, best, high = rates
    return low, best, high


def both_ways(row: Row) -> Three:
    pairs = zip(copy({**row, "way": "in"}), copy({**row, "way": "out"}), strict=True)
    low, best, high = (host_rates().link_duplex_fraction * (there + back) for there, back in pairs)
    return low, best, high


def reload_rate(row: Row) -> Three:
    return three(ends_of(row, strategy="offload-reuse"), lambda plan: kv_in_bytes_per_s(plan) / GB)


def block_kib(row: Row) -> Three:
    return three(ends_of(row, strategy="offload-reuse"), lambda plan: copy_bytes(plan) / KIB)


def token_kb(row: Row) -> Three:
    """Of the whole model, one copy."""
    ends = ends_of({**row, "host": "h100-server", "gpus": 1, "tp": 1, "engine": "generic", "context": 4096})
    return three(ends, lambda plan: growing_bytes_per_token(plan.kv) / 1e3)


def pool_tokens(row: Row) -> Three:
    ends = ends_of(row, context=4096)
    return three(ends, lambda plan: row["pool_gib"] * GIB // growing_bytes(plan.kv, 16.0) * 16.0)


def capacity_ratio(row: Row) -> Three:
    native = growing_bytes_per_token(ends_of(row, strategy="hbm")[1].kv)
    return three(ends_of(row), lambda plan: native / growing_bytes_per_token(plan.kv))


def tables_gb(row: Row) -> Three:
    """MagicPIG's hash tables, all layers, in GiB as its sizes fit best; its default has 150 of them."""
    return three(
        ends_of(row, users=1),
        lambda plan: plan.charges.dram_index_fraction * growing_bytes(plan.kv, float(row["context"]))
        * row["tables"] / 150.0 / GIB,
    )  # fmt: skip


def dram_gb(row: Row) -> Three:
    users = float(row.get("users", 1))
    one = float(row["context"])
    return three(
        ends_of(row),
        lambda plan: users * (plan.charges.dram_fraction + plan.charges.dram_index_fraction)
        * growing_bytes(plan.kv, one) / 1e9,
    )  # fmt: skip


FIGURES: dict[str, tuple[Callable[[Row], Three], str]] = {
    "step": (step, "ms"), "slope": (slope, "ns/token"), "intercept": (intercept, "ms"), "ttft": (ttft, "ms"),
    "step ratio": (step_ratio, "x"), "throughput ratio": (throughput_ratio, "x"), "gain": (gain, "x"),
    "gpu idle": (gpu_idle, "of the step"), "intake": (intake, "ktok/s"), "copy": (copy, "GB/s"),
    "both ways": (both_ways, "GB/s"), "reload rate": (reload_rate, "GB/s"), "block KiB": (block_kib, "KiB"),
    "token KB": (token_kb, "KB"), "pool tokens": (pool_tokens, "tokens"), "capacity ratio": (capacity_ratio, "x"),
    "tables GB": (tables_gb, "GB"), "dram GB": (dram_gb, "GB"),
}  # fmt: skip


def name_of(row: Row) -> str:
    """Its set-up in a line."""
    words = []
    for key in ("model", "host", "engine", "method", "strategy", "weights", "by", "way"):
        if key in row:
            words.append(str(row[key]))
    sizes = [f"{row['context']:,}" if "context" in row else "", f"x {row['users']}" if "users" in row else "",
             f"{row['kib']:,} KiB" if "kib" in row else "", f"hit {row['hit']}" if "hit" in row else "",
             f"{row['chosen_tokens']} chosen" if "chosen_tokens" in row else "",
             f"{row['experts_per_token']} experts" if "experts_per_token" in row else ""]  # fmt: skip
    return f"{row['figure']}: {', '.join(words)} {' '.join(part for part in sizes if part)}"


def printed(row: Row, predicted: Three) -> Three:
    """The prediction, or what was published where it is the same to the digits that were printed."""
    same = abs(predicted[1] - row["observed"]) <= row.get("rounding", 0.0)
    return (row["observed"],) * 3 if same else predicted


def groups() -> list[truth_table.Group]:
    """Every family by half. Known misses have a reason in their row and a group of their own, without a bar."""
    parts: dict[tuple[str, str], list[truth_table.Row]] = {}
    for row in truth_table.lines("paper_rows.jsonl"):
        figure, unit = FIGURES[row["figure"]]
        found = truth_table.Row(name_of(row), printed(row, figure(row)), float(row["observed"]), unit)
        half = "known misses" if "known_miss" in row else row["half"]
        parts.setdefault((row["family"], half), []).append(found)
    bars = {(family, half): BARS[family] if half != "known misses" else {} for family, half in parts}
    return [truth_table.Group(f"papers: {family}, {half}", tuple(rows), **bars[family, half])
            for (family, half), rows in sorted(parts.items())]  # fmt: skip
