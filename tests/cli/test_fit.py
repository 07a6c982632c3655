"""``kvplan fit`` as scripts see it: JSON, exit codes, matrices, files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INTERVAL = {"low", "best", "high"}
BUDGETS = ["hbm", "dram_capacity", "dram_bandwidth", "link", "cpu_cores"]


def kvplan(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kvplan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, stdin=subprocess.DEVNULL)


def answer(*arguments: str, code: int) -> dict[str, Any]:
    done = kvplan("fit", *arguments, "--format", "json")
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_the_missions_question() -> None:
    fit = answer("--model", "llama3-70b", "--host", "rtx4090", code=1)
    assert fit["schema"] == "kvplan.fit/1"
    assert fit["model"]["name"] == "Llama-3.1-70B-Instruct"
    assert fit["model"]["parameters"] == 70_553_706_496
    assert fit["model"]["max_context_tokens"] == 131_072
    assert fit["engine"]["name"] == "vllm"
    lengths = {"context_tokens": 32768, "prompt_tokens": 32768, "output_tokens": None, "lengths": None}
    assert fit["workload"] == {**lengths, "users": 1}
    assert fit["objectives"] == {"itl_s": 0.05, "ttft_s": None, "margin_fraction": 0.05}
    assert (fit["verdict"]["outcome"], fit["verdict"]["bound_by"]) == ("no", "hbm")
    extras = fit["gpu_memory"]["weight_bytes"] - 2 * 70_553_706_496
    assert extras == 131_072 * 128 * 2  # the table of rotary positions that vLLM keeps beside the checkpoint


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--model", "llama3-8b", "--host", "rtx4090", "--context", "8k"), 0),
        (("--model", "llama3-8b", "--host", "m3-ultra"), 0),
        (("--model", "llama3-70b", "--host", "gh200"), 1),
        (("--model", "llama3-8b", "--host", "m3-ultra", "--strategy", "offload-stream"), 3),
        (("--model", "no-such-model", "--host", "rtx4090"), 2),
        (("--model", "llama3-8b", "--host", "rtx4090", "--users", "0"), 2),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    assert kvplan("fit", *arguments, "--format", "json").returncode == code


def test_bytes_are_integers_and_intervals_are_ordered() -> None:
    fit = answer("--model", "llama3-8b", "--host", "h100-server", "--gpus", "1", "--users", "4", code=0)
    assert fit["host"]["gpus"] == 1
    assert fit["host"]["cpu_cores"] == 96
    for strategy in fit["strategies"]:
        if strategy["outcome"] in ("na", "unknown") or strategy["bound_by"] == "kernel":
            assert strategy["budgets"] == {}
            assert strategy["itl_s"] is None
            continue
        assert list(strategy["budgets"]) == BUDGETS
        assert isinstance(strategy["kv_bytes_per_token"], int)
        assert isinstance(strategy["budgets"]["hbm"]["limit"], int)
        for name in ("users_max", "context_tokens_max", "itl_s", "ttft_s", "decode_tokens_per_s"):
            assert set(strategy[name]) == INTERVAL
            assert strategy[name]["low"] <= strategy[name]["best"] <= strategy[name]["high"]
        for budget in strategy["budgets"].values():
            for part in budget["parts"]:
                assert set(part) == {"name", "value", "formula", "source"}


def test_kv_bytes_per_token_are_per_gpu() -> None:
    fit = answer("--model", "llama3-70b", "--host", "h100-server", code=0)
    assert fit["layout"]["tp"] == 8
    by_id = {strategy["id"]: strategy for strategy in fit["strategies"]}
    assert by_id["hbm"]["kv_bytes_per_token"] == 327_680 // 8
    assert by_id["kv-fp8"]["kv_bytes_per_token"] == 327_680 // 16


def test_several_hosts_are_a_matrix() -> None:
    matrix = answer("--model", "llama3-8b", "--host", "h100-server", "--host", "rtx4090", "--host", "m3-ultra", code=0)
    assert matrix["schema"] == "kvplan.fit-matrix/1"
    assert [fit["host"]["name"] for fit in matrix["fits"]] == ["h100-server", "rtx4090", "m3-ultra"]
    assert [fit["engine"]["name"] for fit in matrix["fits"]] == ["vllm", "vllm", "llama.cpp"]


def test_only_the_strategies_named_are_judged() -> None:
    fit = answer("--model", "llama3-8b", "--host", "rtx4090", "--strategy", "kv-fp8", "--strategy", "hbm", code=0)
    assert [strategy["id"] for strategy in fit["strategies"]] == ["kv-fp8", "hbm"]


def test_kv_cache_dtype_sets_what_hbm_means() -> None:
    fit = answer(
        "--model", "llama3-8b", "--host", "rtx4090", "--kv-cache-dtype", "fp8", "--strategy", "hbm", code=0
    )  # fmt: skip
    assert fit["strategies"][0]["kv_bytes_per_token"] == 65_536


def test_outputs_go_to_files_in_their_own_formats(tmp_path: Path) -> None:
    done = kvplan(
        "fit", "--model", "llama3-8b", "--host", "rtx4090", "--context", "8k",
        "--output", "json=plan.json", "--output", "plan.csv", "--output", "plan.md", cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    fit = json.loads((tmp_path / "plan.json").read_text())
    rows = list(csv.DictReader((tmp_path / "plan.csv").open(newline="")))
    assert len(rows) == len(fit["strategies"])
    assert fit["verdict"]["sentence"] in (tmp_path / "plan.md").read_text()


@pytest.mark.parametrize("format", ["table", "markdown", "csv"])
def test_the_first_thing_said_is_the_verdict(format: str) -> None:
    done = kvplan("fit", "--model", "llama3-8b", "--host", "rtx4090", "--context", "8k", "--format", format)
    assert done.returncode == 0
    first = done.stdout.lstrip("*# ").splitlines()[0]
    assert "FITS" in first or format == "csv"


def test_the_same_question_gets_the_same_answer() -> None:
    once, again = (kvplan("fit", "--model", "qwen3-32b", "--host", "h100-server", "--format", "json") for _ in range(2))
    assert once.stdout == again.stdout


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m kvplan fit --model llama3-8b --host rtx4090 --format json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "{"
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
