"""``kvplan calibrate`` as it is typed, and ``fit`` after it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kvplan.units import GIB
from tests.cli.kit import answer, kvplan
from tests.cli.test_schema import faults
from tests.golden_kit import check_golden

LOGS = Path(__file__).parents[1] / "engine_logs/logs"
DAY_S = 1_777_000_000
"""2026-04-24, as the modification time of the logs."""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder with the logs, and a config folder that isn't there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    for log in LOGS.glob("*.log"):
        shutil.copy(log, work / log.name)
        os.utime(work / log.name, (DAY_S, DAY_S))
    monkeypatch.chdir(work)
    return tmp_path


@pytest.mark.parametrize(
    ("log", "host", "columns"),
    [("vllm-v1-debug", "h100-server", 100), ("vllm-three-starts", "h100-server", 80), ("llama-server", "rtx4090", 100),
     ("sglang-tp2", "h100-server", 100)],
)  # fmt: skip
def test_the_screen(monkeypatch: pytest.MonkeyPatch, log: str, host: str, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = kvplan("calibrate", f"{log}.log", "--host", host)
    assert (done.code, done.err) == (0, "")
    check_golden(f"calibrate-{log}-{columns}.txt", done.out)


@pytest.mark.parametrize(("log", "host"), [
    ("vllm-v1-debug.log", "h100-server"), ("vllm-v0-two-ranks.log", "rtx4090-2x"),
    ("vllm-three-starts.log", "h100-server"), ("sglang-tp2.log", "h100-server"), ("llama-server.log", "rtx4090"),
    ("trtllm-pytorch.log", "h100-server"),
])  # fmt: skip
def test_json_keeps_its_schema(log: str, host: str) -> None:
    found = answer("calibrate", log, "--host", host)
    assert faults(found) == []
    assert found["saved"] is None
    assert found["log"]["complete"]
    assert {row["name"] for row in found["figures"]} >= {"weight_bytes", "kv_pool_bytes"}
    assert faults(answer("calibrate", log, "--host", host, "--save", "kept")) == []


def test_the_prediction_of_a_published_run_holds() -> None:
    """Llama-3.1-8B on an H100 under vLLM 0.19: every interval holds what was printed, the pool is within 0.3 %.

    Source: llm-d-planner, accuracy/README.md of the 0.19 campaign.
    """
    rows = answer("calibrate", "vllm-v1-debug.log", "--host", "h100-server")["figures"]
    assert all(row["inside"] is not False for row in rows), rows
    pool = next(row for row in rows if row["name"] == "kv_pool_bytes")
    assert pool["observed"] == pytest.approx(58.11 * GIB)
    assert abs(pool["error_fraction"]) < 0.003


def test_without_a_host_the_log_alone_is_shown() -> None:
    done = kvplan("calibrate", "vllm-v1-debug.log")
    assert done.code == 3
    assert done.out.startswith("CANNOT predict: no host was named: --host NAME adds what kvplan predicts.")
    assert "58.11" in done.out
    found = answer("calibrate", "vllm-v1-debug.log", code=3)
    assert faults(found) == []
    assert (found["host"], found["engine"]) == (None, None)
    assert all(row["predicted"] is None for row in found["figures"])


FIT = ("fit", "--model", "llama3-8b", "--host", "h100-server", "--gpus", "1", "--context", "8192", "--strategy", "hbm",
       "--engine", "vllm@0.19", "--gpu-memory-utilization", "0.95")  # fmt: skip


def test_fit_takes_what_was_kept_and_says_so(folder: Path) -> None:
    before = answer(*FIT)["gpu_memory"]
    assert before["calibration"] is None
    kept = answer("calibrate", "vllm-v1-debug.log", "--host", "h100-server", "--save", "my-h100")["saved"]
    assert kept["file"] == f"{folder}/config/kvplan/hardware.toml"
    assert kept["always_read"]

    found = answer(*FIT)
    memory, pool = found["gpu_memory"], found["gpu_memory"]["kv_pool_bytes"]
    assert memory["calibration"] == "my-h100"
    observed = {"total": 79.19, "weight": 14.99, "activation": 1.89, "runtime": 0.25}
    for name, gib in observed.items():
        assert memory[f"{name}_bytes"] == pytest.approx(gib * GIB, abs=GIB / 1000), name
    assert pool["best"] == pytest.approx(58.11 * GIB, abs=0.02 * GIB), "as the engine printed it"
    assert pool["high"] - pool["low"] < 0.2 * GIB
    old = before["kv_pool_bytes"]
    assert pool["high"] - pool["low"] < old["high"] - old["low"]
    words = "total 79.19, weights 14.99, activation 1.89, runtime 0.25 GiB a GPU"
    assert f"calibrated: {words} by my-h100 (vllm-v1-debug.log, 2026-04-24)" in found["warnings"]
    parts = {part["name"]: part["source"] for part in found["strategies"][0]["budgets"]["hbm"]["parts"]}
    for name in ("weights", "activations", "runtime"):
        assert parts[name] == "calibration my-h100: vllm-v1-debug.log, 2026-04-24"
    assert "Calibrated: total 79.19" in kvplan(*FIT).out


@pytest.mark.parametrize(
    ("change", "terms"),
    [
        (("--max-num-seqs", "64"), {"weight", "runtime"}),
        (("--gpu-memory-utilization", "0.8"), {"weight", "activation", "runtime"}),
        (("--model", "qwen3-8b"), {"runtime"}),
        (("--engine", "vllm@0.17"), set()),
        (("--engine", "sglang"), set()),
        (("--gpus", "2", "--tp", "2"), set()),
        (("--host", "h200-server"), set()),
        (("--hbm-gib", "79"), set()),
    ],
    ids=["batch", "utilization", "model", "version", "engine", "ranks", "host", "hbm"],
)
def test_what_a_start_did_not_show_stays_an_estimate(change: tuple[str, ...], terms: set[str]) -> None:
    plan = list(FIT)
    for flag, value in zip(change[::2], change[1::2], strict=True):
        plan = plan[: plan.index(flag)] + plan[plan.index(flag) + 2 :] if flag in plan else plan
        plan += [flag, value]
    before = answer(*plan)["gpu_memory"]
    assert kvplan("calibrate", "vllm-v1-debug.log", "--host", "h100-server", "--save", "my-h100").code == 0
    after = answer(*plan)["gpu_memory"]
    names = ("weight", "activation", "runtime")
    changed = {name for name in names if after[f"{name}_bytes"] != before[f"{name}_bytes"]}
    assert changed == terms
    assert (after["calibration"] == "my-h100") == bool(terms)


def test_parts_that_are_not_printed_are_kept_as_their_sum(folder: Path) -> None:
    """At INFO vLLM prints weights and pool: what lies between them is known all the same."""
    text = (LOGS / "vllm-v1-debug.log").read_text(encoding="utf-8")
    quiet = "".join(line for line in text.splitlines(keepends=True) if "DEBUG" not in line)
    Path("info.log").write_text(quiet, encoding="utf-8")
    saved = answer("calibrate", "info.log", "--host", "h100-server", "--save", "my-h100")["saved"]
    assert set(saved["terms"]) == {"weights", "rest"}
    memory = answer(*FIT)["gpu_memory"]
    assert memory["kv_pool_bytes"]["best"] == pytest.approx(58.11 * GIB, abs=0.03 * GIB)
    assert memory["kv_pool_bytes"]["high"] - memory["kv_pool_bytes"]["low"] < 0.3 * GIB


@pytest.mark.parametrize(("log", "host", "plan", "gib"), [
    ("sglang-tp2.log", "h100-server",
     "--model qwen3-8b --engine sglang --tp 2 --gpus 2 --mem-fraction-static 0.88", 60.5),
    ("trtllm-pytorch.log", "h100-server",
     "--model llama3-8b --engine tensorrt-llm@1.1 --gpus 1 --gpu-memory-utilization 0.9", 55.01),
    ("vllm-v0-two-ranks.log", "rtx4090-2x", "--model qwen2.5-7b --engine vllm@0.7.2 --tp 2", 12.5),
])  # fmt: skip
def test_the_pool_of_other_engines_is_as_they_printed_it(log: str, host: str, plan: str, gib: float) -> None:
    assert kvplan("calibrate", log, "--host", host, "--save", "kept").code == 0
    memory = answer("fit", "--host", host, *plan.split(), "--context", "8192", "--strategy", "hbm")["gpu_memory"]
    assert memory["calibration"] == "kept"
    assert memory["kv_pool_bytes"]["best"] == pytest.approx(gib * GIB, abs=0.05 * GIB)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--save", "x"), 2, "error: --save needs --host NAME: a correction is kept for a host\n"),
        (("--host", "rtx4090", "--save", "x"), 2, "error: the log's device has 79.19 GiB, the RTX 4090 24 GB of "),
        (("--host", "h100-server", "--save", "a b"), 2, "error: 'a b' can't be the name of a calibration\n"),
        (("--host", "h100-server", "--host", "rtx4090"), 2, "error: a log is of one host\n"),
        (("--host", "nowhere"), 2, "error: no host named 'nowhere'\n"),
        (("--host", "h100-server", "--model", "nothing"), 2, "error: no model named 'nothing'\n"),
        (("--host", "h100-server", "--format", "csv"), 2, "error: --format 'csv' is not known\n"),
    ],
)
def test_slips(folder: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = kvplan("calibrate", "vllm-v1-debug.log", *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(message), done.err
    assert not (folder / "config").exists()


def test_a_name_twice_and_replaced() -> None:
    arguments = ("calibrate", "vllm-v1-debug.log", "--host", "h100-server", "--save", "mine")
    assert kvplan(*arguments).code == 0
    again = kvplan(*arguments)
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("error: there is a calibration 'mine' already, in ")
    assert again.err.endswith("help: --replace lays the new one over it\n")
    assert answer(*arguments, "--replace")["saved"]["replaced"] is not None


def test_a_model_that_the_log_names_by_its_folder(folder: Path) -> None:
    text = (LOGS / "vllm-v1-debug.log").read_text(encoding="utf-8")
    for path, found in (
        ("/models/Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct"),
        ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/b968826d9c46", "Qwen3-8B"),
    ):
        Path("moved.log").write_text(text.replace("meta-llama/Llama-3.1-8B-Instruct", path), encoding="utf-8")
        assert answer("calibrate", "moved.log", "--host", "h100-server")["model"] == found
    Path("moved.log").write_text(text.replace("meta-llama/Llama-3.1-8B-Instruct", "/models/run-7"), encoding="utf-8")
    done = kvplan("calibrate", "moved.log", "--host", "h100-server")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no model named '/models/run-7', as the log has it\nhelp: --model NAME")


def test_nothing_recognised_says_what_was_looked_for() -> None:
    Path("web.log").write_text("INFO: Uvicorn running\n", encoding="utf-8")
    done = kvplan("calibrate", "web.log", "--host", "h100-server")
    assert (done.code, done.out) == (3, "")
    assert "looked for llama.cpp: 'model buffer size ='" in done.err
    assert "vllm: 'Available KV cache memory'" in done.err


@pytest.mark.parametrize(("slip", "message"), [
    ("observed_gib = { weights = -1.0 }", "observed_gib.weights: input should be greater than or equal to 0"),
    ("observed_gib = { wieghts = 1.0 }", "has a key 'observed_gib.wieghts'"),
    ("", "observed_gib is missing"),
])  # fmt: skip
def test_a_row_with_a_slip_is_refused_in_one_line(slip: str, message: str) -> None:
    row = ('[calibrations.mine]\nhost = "h100-server"\nengine = "vllm"\nversion = "0.19"\nmodel = "llama3-8b"\n'
           f'weights = "bf16"\ncontext_tokens = 8192\nsource = "by hand"\n{slip}\n')  # fmt: skip
    Path("own.toml").write_text(row, encoding="utf-8")
    done = kvplan(*FIT, "--catalog", "own.toml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: own.toml [calibrations.mine]: ")
    assert message in done.err
