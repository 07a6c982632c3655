"""Incidents of layouts, threads, cores, flags and offloading that others reported: the same verdict and rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.rules.interface import LEVELS
from tests.rules.kit import found, pod

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "truth" / "layout_and_speed_incidents.jsonl")
    .read_text("utf-8")
    .splitlines()
]


def manifest(row: dict[str, Any]) -> str:
    """A pod with the arguments, variables and limits of the incident."""
    args = "\n".join(json.dumps(word) if "{" in word else word for word in row["args"])
    limits = ", ".join(f"{name}: {value}" for name, value in row["limits"].items())
    text = pod(args, limits, row.get("image", "vllm/vllm-openai:v0.10.0"))
    variables = "".join(f"    - {{name: {name}, value: '{value}'}}\n" for name, value in row.get("env", {}).items())
    text = text.replace("    args:", f"    env:\n{variables}    args:") if variables else text
    return text.replace("    args:", "    command: [vllm, serve]\n    args:") if "cpu-release" in text else text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['url'].rsplit('/', 1)[1]}-{row['rule']}-{row['level']}")
def test_the_verdict_is_that_of_the_incident(row: dict[str, Any], tmp_path: Path) -> None:
    items = found(tmp_path, manifest(row), row["rule"], "pod.yaml", row["host"])
    levels = sorted({item.level for item in items}, key=LEVELS.index)
    assert levels[:1] == ([row["level"]] if row["level"] else [])
    assert row["url"].startswith("https://github.com/")
