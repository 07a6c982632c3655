"""``--task``: losses of one class of task, and TIGHT where they are more than it can bear."""

from __future__ import annotations

from typing import Any

import pytest

import kvplan as api
from kvplan.errors import InputError
from tests.cli.kit import answer, kvplan

FP4 = ("fit", "--model", "llama3-8b", "--host", "b200-server", "--gpus", "1", "--context", "128k", "--users", "30",
       "--strategy", "kv-nvfp4")  # fmt: skip


def strategy(fit: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in fit["strategies"] if item["id"] == name)
    return found


def test_long_reasoning_makes_four_bits_tight() -> None:
    assert answer(*FP4)["verdict"]["outcome"] == "fits"
    fit = answer(*FP4, "--task", "reasoning")
    item = strategy(fit, "kv-nvfp4")
    assert (fit["verdict"]["outcome"], item["outcome"], item["bound_by"]) == ("tight", "tight", None)
    assert item["reason"].startswith("long reasoning loses 4.3 to 40 points")
    assert item["reason"] in fit["verdict"]["sentence"]
    assert item["accuracy"]["loss_points"] == {"low": 4.3, "high": 40.0}
    assert item["accuracy"]["task"] == "reasoning"
    assert answer(*FP4, "--task", "chat")["verdict"]["outcome"] == "fits"


def test_the_limit_is_the_users_own() -> None:
    assert answer(*FP4, "--task", "reasoning", "--max-loss-points", "40")["verdict"]["outcome"] == "fits"
    assert answer(*FP4, "--task", "retrieval", "--max-loss-points", "0.5")["verdict"]["outcome"] == "tight"


def test_a_task_changes_nothing_but_accuracy() -> None:
    plain, asked = answer(*FP4), answer(*FP4, "--task", "reasoning")
    for one in (plain, asked):
        item = strategy(one, "kv-nvfp4")
        for name in ("accuracy", "outcome", "reason"):
            del item[name]
        del one["verdict"], one["remedies"]
    assert plain == asked


def test_a_no_stays_a_no() -> None:
    words = ("fit", "--model", "llama3-70b", "--host", "rtx4090", "--task", "reasoning")
    assert answer(*words, code=1)["verdict"]["outcome"] == "no"


def test_without_a_task_the_class_is_null() -> None:
    assert {item["accuracy"]["task"] for item in answer(*FP4)["strategies"]} == {None}


def test_what_is_unknown_for_a_class_says_so_and_is_no_reason() -> None:
    fit = answer("fit", "--model", "llama3-8b", "--host", "m3-ultra", "--strategy", "kv-q8_0", "--task", "reasoning")
    item = strategy(fit, "kv-q8_0")
    assert (item["outcome"], item["reason"]) == ("fits", None)
    assert item["accuracy"]["loss_points"] == {"low": None, "high": None}
    assert "no published figure for long reasoning" in item["accuracy"]["on"]
    assert "nobody has published for long reasoning" in fit["verdict"]["sentence"]


def test_the_task_decides_who_wins() -> None:
    """PQCache loses 43 points of AIME24: any that loses less comes before it, and 4-bit KV fits."""
    words = ("fit", "--model", "llama3-8b", "--host", "h100-server", "--gpus", "1", "--context", "128k", "--users", "8",
             "--strategy", "offload-retrieve", "--strategy", "kv-int4")  # fmt: skip
    assert answer(*words)["verdict"]["strategy"] == "offload-retrieve"
    fit = answer(*words, "--method", "infinigen", "--task", "reasoning")
    assert fit["verdict"]["strategy"] == "kv-int4"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--task poetry", "error: no task named 'poetry'"),
        ("--max-loss-points 3", "error: --max-loss-points needs a task"),
        ("--task chat --max-loss-points -1", "error: --max-loss-points must be from 0 to 100 (it is -1.0)"),
        ("--task chat --max-loss-points nan", "error: --max-loss-points must be from 0 to 100 (it is nan)"),
        ("--seed 3", "error: --seed goes with --sensitivity"),
    ],
)
def test_slips(arguments: str, message: str) -> None:
    done = kvplan("fit", "--model", "llama3-8b", "--host", "rtx4090", *arguments.split())
    assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", message)


def test_a_sweep_takes_a_task_too() -> None:
    kvplan("sweep", *FP4[1:7], "--context", "4k", "--users", "1")  # it says on stderr that it compiles, once
    words = ("sweep", *FP4[1:7], "--context", "32k", "--users", "1,4", "--strategy", "kv-nvfp4")
    assert answer(*words)["outcomes"] == [["fits", "fits"]]
    assert answer(*words, "--task", "reasoning")["outcomes"] == [["tight", "tight"]]


def test_sensitivity_is_null_unless_asked_for() -> None:
    words = ("fit", "--model", "llama3-8b", "--host", "rtx4090", "--context", "16k", "--users", "2")
    plain, asked = answer(*words), answer(*words, "--sensitivity")
    assert plain["sensitivity"] is None
    found = asked.pop("sensitivity")
    del plain["sensitivity"]
    assert plain == asked
    assert (found["seed"], found["points"], found["holds_fraction"]) == (1, 512, 1.0)
    assert found["turns"][0]["input"] == "usable GPU memory"
    assert -0.2 <= found["turns"][0]["change_fraction"] < 0.0
    assert answer(*words, "--sensitivity", "--seed", "9")["sensitivity"]["seed"] == 9


def test_every_host_of_a_matrix_has_its_own() -> None:
    matrix = answer("fit", "--model", "llama3-8b", "--host", "rtx4090", "--host", "h100-server", "--sensitivity")
    assert [fit["sensitivity"]["points"] for fit in matrix["fits"]] == [512, 512]
    table = kvplan("fit", "--model", "llama3-8b", "--host", "rtx4090", "--host", "h100-server", "--sensitivity").out
    assert table.count("Sensitivity:") == 2


def test_in_python() -> None:
    words: dict[str, Any] = {"model": "llama3-8b", "host": "rtx4090", "context": "16k", "users": 2}
    assert api.fit(**words).sensitivity is None
    found = api.fit(**words, sensitivity=True, seed=3, task="chat")
    assert found.sensitivity is not None and found.sensitivity.seed == 3
    assert found.assessment.strategies[1].accuracy.task == "chat"
    assert api.fit(model="llama3-8b", host=["rtx4090"], sensitivity=True).fits[0].sensitivity is not None
    with pytest.raises(InputError, match="seed goes with"):
        api.fit(**words, seed=3)
    with pytest.raises(InputError, match="True or False"):
        api.fit(**words, sensitivity="yes")
