"""What a user sees for wrong input: one clear line, one hint at most, the right exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import Done, kvplan
from tests.golden_kit import check_golden

FIT = "fit --model llama3-8b --host rtx4090"
NAMES = (
    "fit --model llama-3-70b --host rtx4090",
    "fit --model something-else --host rtx4090",
    "fit --model llama3-8b --host rtx4009",
    f"{FIT} --strategy ofload-stream",
    f"{FIT} --engine vlm",
    f"{FIT} --engine vllm@99",
    f"{FIT} --weights q9",
    f"{FIT} --kv-cache-dtype fp9",
    f"{FIT} --link pcie9x16",
    "model show lama3-8b",
    "host show m3max",
    "host list --vendor nvdia",
    "model list --attention mlaa",
    "model list --family qwem",
    "explain ofload-stream",
    "schema ft",
)
USAGE = (
    "fti",
    "model lst",
    "fit --modle llama3-8b --host rtx4090",
    f"{FIT} --user 3",
    "fit --model llama3-8b",
    "fit --host rtx4090",
    "fit --model",
    f"{FIT} more",
    f"{FIT} --format xml",
    f"{FIT} --output plan.xyz",
    "kv",
    "model show",
    "explain",
    "schema",
)
NUMBERS = (
    f"{FIT} --users 0",
    f"{FIT} --users -1",
    f"{FIT} --users 1e30",
    f"{FIT} --users {10**30}",
    f"{FIT} --users abc",
    f"{FIT} --context 0",
    f"{FIT} --context 1.5",
    f"{FIT} --context {10**30}",
    f"{FIT} --context nan",
    f"{FIT} --context -5",
    f"{FIT} --margin 2",
    f"{FIT} --margin nan",
    f"{FIT} --itl-ms 0",
    f"{FIT} --itl-ms inf",
    f"{FIT} --gpus 99",
    f"{FIT} --gpus 0",
    f"{FIT} --tp 0",
    f"{FIT} --dram-gib -4",
    f"{FIT} --hbm-gib 0",
    f"{FIT} --other-cpu-cores -1",
    f"{FIT} --gpu-memory-utilization 1.5",
    f"{FIT} --prompt-tokens 9k --context 8k",
    "kv --model llama3-8b --pool-gib 0",
    "kv --model llama3-8b --pool-gib nan",
    "kv --model llama3-8b --pool-bytes -1",
    "kv --model llama3-8b --pool-gib 1 --pool-bytes 5",
    "kv --model llama3-8b --tp 3",
    "kv --model llama3-8b --pp 64",
    "kv --model deepseek-v4-flash --engine vllm@0.19",
    "host list --min-hbm lots",
)
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip
CONFIGS: dict[str, Any] = {
    "zero-layers": {**LLAMA, "num_hidden_layers": 0},
    "negative-layers": {**LLAMA, "num_hidden_layers": -1},
    "huge-layers": {**LLAMA, "num_hidden_layers": 10**30},
    "text-layers": {**LLAMA, "num_hidden_layers": "many"},
    "half-a-layer": {**LLAMA, "num_hidden_layers": 1.5},
    "true-layers": {**LLAMA, "num_hidden_layers": True},
    "no-layers": {**LLAMA, "num_hidden_layers": None},
    "nan-width": {**LLAMA, "hidden_size": float("nan")},
    "no-width": {name: value for name, value in LLAMA.items() if name != "hidden_size"},
    "no-type": {name: value for name, value in LLAMA.items() if name != "model_type"},
    "unknown-type": {**LLAMA, "model_type": "qwen9_hybrid"},
    "a-list": [1, 2],
    "a-number": 7,
}


def checked(done: Done, *, codes: tuple[int, ...] = (2,)) -> Done:
    """The form that every error has."""
    assert done.code in codes, done
    assert done.out == ""
    first, *more = done.err.splitlines()
    assert first.startswith("error: ") and len(first) > 15
    assert len(more) <= 1 and all(line.startswith("help: ") for line in more)
    assert "Traceback" not in done.err and "bug" not in done.err
    return done


def transcript(commands: tuple[str, ...]) -> str:
    """Commands and what they end with."""
    parts = []
    for command in commands:
        done = checked(kvplan(*command.split()), codes=(2, 3))
        parts.append(f"$ kvplan {command}\n{done.err}exit {done.code}\n")
    return "\n".join(parts)


@pytest.mark.parametrize(("name", "commands"), [("names", NAMES), ("usage", USAGE), ("numbers", NUMBERS)])
def test_wrong_words(name: str, commands: tuple[str, ...]) -> None:
    check_golden(f"error-{name}.txt", transcript(commands))


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bad config files, which is the working directory."""
    for name, value in CONFIGS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    (tmp_path / "empty.json").touch()
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    (tmp_path / "weights.safetensors").write_bytes(b"\0" * 64)
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bad_configs(configs: Path) -> None:
    files = [f"{name}.json" for name in (*CONFIGS, "empty", "binary", "deep", "missing")]
    commands = tuple(f"kv --model {name}" for name in (*files, "folder", "weights.safetensors"))
    check_golden("error-configs.txt", transcript(commands))


def test_an_unknown_architecture_is_refused_by_every_command(configs: Path) -> None:
    for command in ("kv --model", "fit --host rtx4090 --model", "model show", "sweep --host rtx4090 --model"):
        done = checked(kvplan(*command.split(), "unknown-type.json"), codes=(3,))
        assert "qwen9_hybrid" in done.err


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_that_leads_to_itself(configs: Path) -> None:
    (configs / "loop.json").symlink_to("loop.json")
    assert "loop.json: can't be read" in checked(kvplan("kv", "--model", "loop.json")).err


@pytest.mark.parametrize("text", ['{"model_type": "lla', '{"num_hidden_layers": ' + "9" * 5000 + "}", "not json"])
def test_broken_json(configs: Path, text: str) -> None:
    (configs / "broken.json").write_text(text, encoding="utf-8")
    assert "broken.json: is not valid JSON" in checked(kvplan("kv", "--model", "broken.json")).err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu = 5", "gpu must be the name of a GPU"),
        ("", "holds no host table"),
        ("gpu = 'rtx4090'\ngpus = 0", "gpus must be greater than 0"),
        ("gpu = 'rtx4091'", "rtx4090"),
        ("gpu = 'rtx4090'\ndram_gb = 64", "dram_gib"),
        ("gpu = ", "is not valid TOML"),
        ("gpu = 'rtx4090'\ndram_gib = { low = 3, best = 2, high = 1 }", "low <= best <= high"),
    ],
)
def test_bad_host_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "host.toml"
    path.write_text(text, encoding="utf-8")
    done = checked(kvplan("fit", "--model", "llama3-8b", "--host", str(path)))
    assert str(path) in done.err and expected in done.err


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "x" * 5000, "\udcff", "'\"", "💥"])
def test_what_was_typed_is_quoted_so_that_a_terminal_is_safe(name: str) -> None:
    done = checked(kvplan("fit", "--model", name, "--host", "rtx4090"))
    assert "\x1b" not in done.err
    assert max(map(len, done.err.splitlines())) < 250


@pytest.mark.parametrize(
    ("arguments", "code", "error_code"),
    [
        (("fit", "--model", "no", "--host", "rtx4090", "--format", "json"), 2, "unknown_name"),
        (("fit", "--format=json", "--model", "llama3-8b", "--host", "rtx4090", "--users", "0"), 2, "input"),
        (("fit", "-f", "JSON", "--nonsense"), 2, "usage"),
        (("fti", "--format", "json"), 2, "usage"),
        (("kv", "--model", "deepseek-v4-flash", "--engine", "vllm@0.19", "--format", "json"), 3, "cannot_judge"),
        (("fit", "--model", "llama3-8b", "--host", "nowhere.toml", "--format", "json"), 2, "catalog"),
    ],
)
def test_errors_as_json(arguments: tuple[str, ...], code: int, error_code: str) -> None:
    done = kvplan(*arguments)
    assert done.code == code
    error = done.answer["error"]
    assert (done.answer["schema"], error["code"]) == ("kvplan.error/1", error_code)
    where = f"{error['where']}: " if error["where"] else ""
    shown = f"error: {where}{error['message']}\n" + (f"help: {error['help']}\n" if error["help"] else "")
    assert done.err == shown


def test_an_unknown_architecture_as_json(configs: Path) -> None:
    error = kvplan("kv", "--model", "unknown-type.json", "--format", "json").answer["error"]
    assert (error["code"], error["where"]) == ("unknown_architecture", "unknown-type.json")


def test_a_bug_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **words: object) -> None:
        raise ZeroDivisionError("float division")

    monkeypatch.delenv("KVPLAN_DEBUG", raising=False)
    monkeypatch.setattr("kvplan.cli.kv.kv", broken)
    done = kvplan("kv", "--model", "llama3-8b")
    assert (done.code, done.out) == (70, "")
    assert re.fullmatch(r"error: ZeroDivisionError: float division\nhelp: .*report.*\n", done.err)


def process(*arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kvplan", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **how)


def test_nothing_typed_shows_the_help() -> None:
    done = process(stdout=subprocess.PIPE)
    assert "Usage: kvplan" in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = process("model", "list", stdout=full)
    assert (done.returncode, done.stderr) == (2, "error: cannot write the result: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process("model", "list", stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
