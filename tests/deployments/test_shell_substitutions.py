"""Sums of whole numbers, held against what bash prints for them."""

from __future__ import annotations

import pytest

from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.substitutions import substituted
from tests.deployments import kit

KNOWN = {"GPUS": "8", "NODES": "2", "TEXT": "8 GPUs", "OCTAL": "010", "ZERO": "0"}


def lookup(name: str) -> Expansion:
    """A few variables."""
    return Expansion(KNOWN[name]) if name in KNOWN else Expansion(reason="it is not set here")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$(($GPUS * $NODES))", "16"),
        ("$(( ${GPUS}*NODES ))", "16"),
        ("$((6 * (5 + 1)))", "36"),
        ("$((GPUS - 1 - NODES))", "5"),
        ("$((-7 / 2))", "-3"),
        ("$((-7 % 2))", "-1"),
        ("$((2 + 3 * 4 % 5))", "4"),
    ],
)
def test_sums(written: str, value: str) -> None:
    assert substituted(written, lookup) == value


@pytest.mark.parametrize(
    "written",
    [
        "$((UNSET * 2))", "$((TEXT))", "$((OCTAL))", "$((08))", "$((1 << 4))", "$((1 / ZERO))", "$((2 +))", "$(())",
        "$((1 2))", "$((X = 3))", "$(date)", "$((" + "(" * 300 + "1" + ")" * 300 + "))",
        "$((999999999999999 * 999999999999999))",
    ],
)  # fmt: skip
def test_what_only_a_shell_can_say(written: str) -> None:
    assert substituted(written, lookup) is None


def test_ranks_of_a_task_on_two_nodes() -> None:
    """A SkyPilot task whose ranks are all the GPUs of its nodes: 2 x 8 H100 hold DeepSeek-R1, 8 do not."""
    text = """resources:
  accelerators: H100:8
num_nodes: 2
run: |
  TP=$(($SKYPILOT_NUM_GPUS_PER_NODE * $SKYPILOT_NUM_NODES))
  python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp $TP
"""
    item = kit.one(text, "task.yaml")
    assert (item.value("tp"), item.value("gpus"), item.value("nodes")) == ("16", 8, 2)
