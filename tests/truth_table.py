"""Predicted against observed: the table and the error summary in the README's accuracy section.

    python -m tests.truth_table            prints the section
    python -m tests.truth_table --write    writes it into README.md

Rows of ``vllm_budgets.jsonl`` whose id has an even SHA-256 were looked at while constants were set; the odd ones were
not, and the two halves are reported apart. A group whose bar is missed makes ``tests/house/test_truth_table.py`` fail.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kvplan.assess import build_frame, gpu_memory
from kvplan.assess.frame import plan_ends
from kvplan.checkpoints.model import model_from_config
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.results.kv import kv_of
from kvplan.strategies import find_strategy
from kvplan.units import GIB
from tests.truth_groups import engine_logs, incidents

TRUTH = Path(__file__).parent / "truth"
README = Path(__file__).parents[1] / "README.md"
SECTION = re.compile(r"(<!-- accuracy:begin -->\n)(.*?)(<!-- accuracy:end -->)", re.DOTALL)


class Row(NamedTuple):
    """One figure. Times are seconds, memory is GiB."""

    name: str
    predicted: tuple[float, float, float]
    """Low, best, high."""
    observed: float
    unit: str

    @property
    def error(self) -> float:
        """Best over observed, less 1."""
        return self.predicted[1] / self.observed - 1.0

    @property
    def inside(self) -> bool:
        """Whether the interval holds what was observed, as printed to two decimals."""
        slack = 0.005 if self.unit == "GiB" else 0.0
        return self.predicted[0] - slack <= self.observed <= self.predicted[2] + slack


class Group(NamedTuple):
    """Rows that are summed up together, and the bar that they are held to."""

    name: str
    rows: tuple[Row, ...]
    most_median: float | None = None
    most_p90: float | None = None
    least_inside: float | None = None
    listed: bool = True
    """Each of its rows is shown."""

    def quantile(self, fraction: float) -> float:
        """A quantile of the absolute relative errors, by the nearest rank above."""
        errors = sorted(abs(row.error) for row in self.rows)
        return errors[min(len(errors) - 1, int(fraction * len(errors)))]

    @property
    def inside(self) -> float:
        return sum(row.inside for row in self.rows) / len(self.rows)

    def misses(self) -> list[str]:
        """The bars that this group is over."""
        found = []
        for words, value, bar in (("median", self.quantile(0.5), self.most_median),
                                  ("p90", self.quantile(0.9), self.most_p90)):  # fmt: skip
            if bar is not None and value > bar:
                found.append(f"{self.name}: {words} {value:.2%}, bar {bar:.2%}")
        if self.least_inside is not None and self.inside < self.least_inside:
            found.append(f"{self.name}: {self.inside:.0%} inside, bar {self.least_inside:.0%}")
        return found


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRUTH / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def is_held_out(identity: str) -> bool:
    """Rows with an odd SHA-256 are reported, the others may be fitted."""
    return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % 2 == 1


def budget_rows(row: dict[str, Any]) -> dict[str, Row]:
    """Weights and KV pool of one vLLM start, by the settings that it printed."""
    given = {name: row[name] for name in Words._fields if name in row}
    context = min(row["max_model_len"], 8192)
    given |= {"gpus": row["tp"] * row["pp"], "hbm_gib": row.get("total_gib"), "context": context}
    split = gpu_memory(build_frame(resolve(Words(**given))))
    name = f"{row['model']} {row['weights']}, {row['engine']}, {row['host']} tp {row['tp']} pp {row['pp']}"
    found = {}
    if "weights_gib" in row:
        best = split.weight_bytes / GIB
        found["weights"] = Row(name, (0.99 * best, best, 1.03 * best), row["weights_gib"], "GiB")
    if "kv_gib" in row:
        low, best, high = (value / GIB for value in split.kv_pool_bytes)
        found["pool"] = Row(name, (low, best, high), row["kv_gib"], "GiB")
    return found


def budget_groups() -> list[Group]:
    """vLLM on H100 from 0.18 to 0.20, and everything else, each by half."""
    parts: dict[str, list[Row]] = {}
    for row in lines("vllm_budgets.jsonl"):
        recent = row["engine"] in ("vllm@0.18", "vllm@0.19", "vllm@0.20") and row["host"] == "h100-server"
        half = "held out" if is_held_out(row["id"]) else "fitted"
        for figure, found in budget_rows(row).items():
            settled = row.get("text_only") and "max_num_seqs" in row and "max_num_batched_tokens" in row
            if figure == "pool" and not recent and not settled:
                continue
            place_name = "0.18 to 0.20 on H100" if recent else "other versions and GPUs"
            parts.setdefault(f"vLLM {place_name}, {_FIGURES[figure]}, {half}", []).append(found)
    return [_barred(name, tuple(rows)) for name, rows in sorted(parts.items()) if rows]


_FIGURES = {"weights": "weights a GPU", "pool": "KV pool before launch"}


def _barred(name: str, rows: tuple[Row, ...]) -> Group:
    if "weights" in name:
        return Group(name, rows, 0.005, 0.03 if "H100" in name else None)
    return Group(name, rows, 0.003, 0.02, 0.9) if "H100" in name else Group(name, rows)


def step_groups() -> list[Group]:
    """Decode steps of papers, blogs and users."""
    names = {
        "full": "decode step, full attention on A100", "fp8": "decode step, dense, H100 and B200",
        "bf16": "decode step, dense, H100 and B200", "retroinfer": "decode step, RetroInfer on A100",
        "nkvo": "decode step, KV in host memory under llama.cpp", "shadowkv": "decode step, ShadowKV on A100",
        "magicpig": "decode step, MagicPIG on L20", "ktransformers": "decode step, KTransformers attention on 4090",
        "experts": "decode step, experts in host memory (constants set on these rows)",
    }  # fmt: skip
    parts: dict[str, list[Row]] = {}
    for row in lines("published_steps.jsonl"):
        parts.setdefault(names[row["id"].partition("-")[0]], []).append(step_row(row))
    return [Group(name, tuple(rows)) for name, rows in parts.items()]


def step_row(row: dict[str, Any]) -> Row:
    """One published step."""
    model = str(TRUTH / "internlm2_5_7b_1m.config.json") if row["model"] == "internlm2" else row["model"]
    given = {name: row[name] for name in Words._fields if name in row and name not in ("model", "strategy")}
    context, users = float(row["context"]), float(row["users"])
    ends = plan_ends(build_frame(resolve(Words(model=model, **given))), find_strategy(row["strategy"]))
    low, best, high = (decode_step(end, place(end, context, users), context, users).itl_s for end in ends)
    observed = row["itl_ms"] / 1e3 if "itl_ms" in row else users / row["tokens_per_s"]
    name = f"{row['model']}, {row['host']}, {row.get('method', row['strategy'])}, {row['context']:,} x {row['users']}"
    return Row(name, (low, best, high), observed, "s")


def exact_figures() -> list[tuple[str, int, int]]:
    """(figure, models, how many are exact): elements, KV bytes a token, states."""
    counts = {"elements of published checkpoints": [0, 0], "KV bytes per token": [0, 0],
              "state bytes per sequence of hybrids": [0, 0]}  # fmt: skip
    for row in lines("model_facts.jsonl"):
        model = model_from_config(row["config"], name="x", where=row["hub_id"], source="x")
        counted = model.weights.total - (0 if row.get("counts_scales", True) else model.weights.scales)
        _count(counts["elements of published checkpoints"], counted + row.get("beside", 0) == row["elements"])
        kv = kv_of(model)
        if "kv_bytes_per_token" in row:
            _count(counts["KV bytes per token"], round(kv.kv_bytes_per_token) == row["kv_bytes_per_token"])
        if row.get("state_bytes"):
            pairs = zip(kv.layers, model.kv, strict=True)
            states = sum(layer.bytes_per_sequence for layer, item in pairs if item.state)
            _count(counts["state bytes per sequence of hybrids"], round(states) == row["state_bytes"])
    return [*((name, total, exact) for name, (total, exact) in counts.items()), *engine_logs.counts()]


def _count(counter: list[int], exact: bool) -> None:
    counter[0] += 1
    counter[1] += exact


def groups() -> list[Group]:
    """Every group with errors."""
    from tests.truth_groups import host_memory, papers, served

    return [*budget_groups(), *step_groups(), *papers.groups(), *host_memory.groups(), *served.served_groups()]


def section(every: Sequence[Group]) -> str:
    """The section, without its marks."""
    parts = [
        "All predicted from catalog rows and settings alone; the observations are in `tests/truth/`.\n",
        "| figure | rows | exact |\n|---|--:|--:|",
        *(f"| {name} | {total} | {exact} |" for name, total, exact in exact_figures()),
        "",
        *incidents.section(incidents.tallies()),
        "",
        "| figure | rows | median error | p90 error | inside the interval |\n|---|--:|--:|--:|--:|",
        *(_summary(group) for group in every),
        "",
        "Constants of vLLM's memory were set on one half of its rows (even SHA-256 of the id) and are reported on\n"
        "the other as well. Not calibrated, and said so on the screen: vision encoders, sparse attention and hybrids\n"
        "under vLLM, other vendors' GPUs, unified memory under vLLM, TensorRT-LLM's activations.\n",
        "<details><summary>Every row: predicted (low..high) against observed</summary>\n",
        "| figure | predicted | observed | error |\n|---|--:|--:|--:|",
        *(_detail(group, row) for group in every if group.listed for row in group.rows),
        "\n</details>\n",
    ]
    return "\n".join(parts)


def _summary(group: Group) -> str:
    inside = f"{sum(row.inside for row in group.rows)} of {len(group.rows)}"
    shown = inside if not group.name.endswith(("weights a GPU, fitted", "weights a GPU, held out")) else ""
    return f"| {group.name} | {len(group.rows)} | {group.quantile(0.5):.1%} | {group.quantile(0.9):.1%} | {shown} |"


def _detail(group: Group, row: Row) -> str:
    low, best, high = row.predicted
    scale, unit, digits = (1e3, "ms", 1) if row.unit == "s" else (1.0, row.unit, 2)
    figure = "weights" if "weights" in group.name else "pool" if "pool" in group.name else "step"
    figure = next((word for word in ("host memory", "gain") if group.name.startswith(word)), figure)
    predicted = f"{scale * best:.{digits}f} ({scale * low:.{digits}f}..{scale * high:.{digits}f}) {unit}"
    label = row.name if ": " in row.name else f"{figure}: {row.name}"
    return f"| {label} | {predicted} | {scale * row.observed:.{digits}f} | {row.error:+.1%} |"


def misses(every: Iterable[Group]) -> list[str]:
    """Bars that are missed, over all groups; exact figures that are not."""
    found = [text for group in every for text in group.misses()]
    found += incidents.misses(incidents.tallies())
    return found + [f"{name}: {exact} of {total} exact" for name, total, exact in exact_figures() if exact < total]


def written(text: str, fresh: str) -> str:
    """The README with a fresh section."""
    return SECTION.sub(lambda match: match[1] + fresh + match[3], text)


def main() -> int:
    every = groups()
    fresh = section(every)
    if "--write" in sys.argv:
        README.write_text(written(README.read_text(encoding="utf-8"), fresh), encoding="utf-8")
    else:
        print(fresh)
    for text in misses(every):
        print(f"missed: {text}", file=sys.stderr)
    return 1 if misses(every) else 0


if __name__ == "__main__":
    sys.exit(main())
