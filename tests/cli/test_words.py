"""Words that the command line takes, or refuses with the limit that they break."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.kit import answer, kvplan
from tests.cli.test_errors import LLAMA

FIT = ("fit", "--model", "llama3-8b", "--host", "rtx4090")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--cpu-cores 1e30", "--cpu-cores must be below 8388608 (it is 1e+30)"),
        ("--display-reserve-gib 8388608", "--display-reserve-gib must be below 8388608 (it is 8388608.0)"),
        ("--display-reserve-gib -1", "--display-reserve-gib must be 0 or more (it is -1.0)"),
        ("--margin 1", "--margin must be a fraction below 1 (it is 1.0)"),
        ("--itl-ms 1e30", "--itl-ms must be at most 2^53 (it is 1e+30)"),
        ("--other-cpu-cores 1e30", "--other-cpu-cores must be at most 2^53 (it is 1e+30)"),
        (f"--gpus {10**26}", f"--gpus must be a whole number up to 2^53 (it is {10**26})"),
        ("--gpus 0", "--gpus must be a whole number of at least 1 (it is 0)"),
        ("--engine vllm@0.21@1", "--engine 'vllm@0.21@1' has more than one @"),
    ],
)
def test_a_refusal_names_the_limit_that_is_broken(arguments: str, message: str) -> None:
    done = kvplan(*FIT, *arguments.split())
    assert (done.code, done.err.splitlines()[0]) == (2, f"error: {message}")


@pytest.mark.parametrize(
    "arguments",
    [
        "--shared-prefix-tokens 0",
        "--max-model-len auto",
        "--max-model-len -1",
        "--max-model-len=-1",
        "--tensor_parallel_size 1",
    ],
)
def test_the_default_may_be_said(arguments: str) -> None:
    assert answer(*FIT, *arguments.split()) == answer(*FIT)


def test_underscores_as_vllm_takes_them() -> None:
    assert answer(*FIT, "--max_model_len", "9000") == answer(*FIT, "--max-model-len", "9000") != answer(*FIT)


@pytest.mark.parametrize(
    ("path", "served"),
    [
        ("in/config.json", "in"),
        ("in", "in"),
        (".", "."),
        ("config.json", "."),
        ("in/base.json", "PATH/TO/base"),
        ("-x/config.json", "./-x"),
        ("a b/$(c)/config.json", "a b/$(c)"),
    ],
)
def test_the_pasted_command_names_the_folder_of_a_checkpoint(
    path: str, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / path
    file = file if file.suffix == ".json" else file / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(LLAMA), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = kvplan("fit", "--model", path, "--host", "h100-server", "--gpus", "1")
    command = next(line for line in done.out.splitlines() if line.startswith("vllm serve"))
    assert shlex.split(command)[2] == served


def test_a_hub_id_is_served_as_before() -> None:
    assert "vllm serve meta-llama/" in kvplan(*FIT).out


@pytest.mark.parametrize(("more", "known"), [((), "table, json"), (("--list",), "table, json, csv")])
def test_the_help_of_explain_lists_the_formats_that_exist(more: tuple[str, ...], known: str) -> None:
    assert "table or json; csv too with --list." in " ".join(kvplan("explain", "--help").out.split())
    name = () if more else ("kv-fp8",)
    assert f"help: known: {known}\n" in kvplan("explain", *name, *more, "--format", "nope").err
