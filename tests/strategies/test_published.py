"""Predicted steps against published ones, and the interval that must hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.assess import build_frame
from kvplan.assess.frame import plan_ends
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.strategies import find_strategy

TRUTH = Path(__file__).parent.parent / "truth"
WIDEST = {"offload-retrieve": 1.75, "shadowkv": 1.75, "magicpig": 1.65, "ktransformers": 1.9, "expert-offload": 1.75}
ROWS = [json.loads(line) for line in (TRUTH / "published_steps.jsonl").read_text().splitlines()]


def predicted_s(row: dict[str, Any]) -> tuple[float, float, float]:
    model = str(TRUTH / "internlm2_5_7b_1m.config.json") if row["model"] == "internlm2" else row["model"]
    given = {name: row[name] for name in Words._fields if name in row and name not in ("model", "strategy")}
    given["gpus"] = row["gpus"]
    words = Words(model=model, **given)
    context, users = float(row["context"]), float(row["users"])
    ends = plan_ends(build_frame(resolve(words)), find_strategy(row["strategy"]))
    low, best, high = (decode_step(end, place(end, context, users), context, users).itl_s for end in ends)
    return low, best, high


def measured_s(row: dict[str, Any]) -> float:
    return float(row["itl_ms"]) / 1e3 if "itl_ms" in row else row["users"] / row["tokens_per_s"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_step_is_as_published(row: dict[str, Any]) -> None:
    _, best, _ = predicted_s(row)
    assert best == pytest.approx(measured_s(row), rel=row["tolerance"])


def test_most_published_steps_are_inside_their_interval() -> None:
    inside = [low <= measured_s(row) <= high for row in ROWS for low, _, high in [predicted_s(row)]]
    assert sum(inside) / len(inside) >= 0.9


def test_no_interval_is_wider_than_it_must_be() -> None:
    for row in ROWS:
        low, best, high = predicted_s(row)
        widest = WIDEST.get(row.get("method", row["strategy"]), 1.35)
        assert high / best < widest
        assert best / low < widest
