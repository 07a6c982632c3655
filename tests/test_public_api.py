"""``import kvplan``: the commands as functions, typed answers, the same errors, and nothing loaded too early."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kvplan
from kvplan.deployments.words import Words
from kvplan.errors import CannotJudge, InputError, KvplanError, UnknownName
from kvplan.results.check import CheckResult
from kvplan.results.fit import FitMatrix, FitResult
from kvplan.results.kv import KvResult
from kvplan.results.public import words_from
from kvplan.results.sweep import SweepResult
from tests.cli.kit import answer


def test_fit_is_what_the_command_says() -> None:
    found = kvplan.fit(model="llama3-70b", host="rtx4090", context="32k", users=2)
    assert isinstance(found, FitResult)
    arguments = ("fit", "--model", "llama3-70b", "--host", "rtx4090", "--context", "32k", "--users", "2")
    assert found.to_json() == answer(*arguments, code=1)


def test_hosts_make_a_matrix() -> None:
    found = kvplan.fit(model="llama3-8b", host=["rtx4090", "m3-max"], context=8192)
    assert isinstance(found, FitMatrix)
    names = [fit["host"]["name"] for fit in found.to_json()["fits"]]
    assert names == ["rtx4090", "m3-max"]


def test_kv_is_what_the_command_says() -> None:
    found = kvplan.kv(model="gpt-oss-120b", context=131072, tp=2, pool_gib=10)
    assert isinstance(found, KvResult)
    arguments = ("kv", "--model", "gpt-oss-120b", "--context", "128k", "--tp", "2", "--pool-gib", "10")
    assert found.to_json() == answer(*arguments)
    assert found.pool is not None and found.pool.pool_bytes == 10 * 2**30


def test_sweep_is_what_the_command_says() -> None:
    found = kvplan.sweep(model="llama3-8b", host="rtx4090", context="4k:16k", users="1:4", strategy="hbm")
    assert isinstance(found, SweepResult)
    arguments = ("sweep", "--model", "llama3-8b", "--host", "rtx4090", "--context", "4k:16k", "--users", "1:4")
    assert found.to_json() == answer(*arguments, "--strategy", "hbm")


def test_check_is_what_the_command_says(repository: Path) -> None:
    path = repository / "examples/deployment.toml"
    for given in ((path,), (str(path),), ([path],)):
        found = kvplan.check(*given)
        assert isinstance(found, CheckResult)
        assert found.to_json()["summary"]["deployments"] == 1


def test_answers_are_frozen_and_their_json_is_json() -> None:
    found = kvplan.kv(model="llama3-8b")
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        found.weight_bytes = 0.0  # type: ignore[misc]
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


def test_paths_lists_and_numbers_of_other_kinds(tmp_path: Path) -> None:
    class Eight:
        """A whole number of some library."""

        def __index__(self) -> int:
            return 8

    path = tmp_path / "box.toml"
    path.write_text('gpu = "rtx4090"\nlink_gb_per_s = 20\ndram_gib = 64\n', encoding="utf-8")
    found = kvplan.fit(model="llama3-8b", host=path, users=Eight(), context=4096, strategy=["hbm", "kv-fp8"], margin=0)
    shown = found.to_json()
    assert shown["workload"]["users"] == 8
    assert [item["id"] for item in shown["strategies"]] == ["hbm", "kv-fp8"]
    assert words_from(model="a", catalog=path).catalog == (str(path),)


def test_every_word_of_the_command_line_is_a_keyword() -> None:
    texts = ("model", "host", "link", "engine", "weights", "kv_cache_dtype", "speculative_config", "method",
             "mamba_cache_mode", "mamba_ssm_cache_dtype", "task")  # fmt: skip
    switches = ("enforce_eager", "fetch", "prefix_caching", "unify_kv_groups")
    plain = dict.fromkeys(texts, "text")
    for name in Words._fields:
        if name not in ("strategies", "catalog"):
            value: Any = plain.get(name, name in switches or 1)
            assert getattr(words_from(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        ({"model": "llama-3-70b"}, UnknownName, "no model named 'llama-3-70b'"),
        ({"user": 3}, InputError, "no keyword argument named 'user'"),
        ({"users": "3"}, InputError, "users must be a whole number (it is '3')"),
        ({"users": True}, InputError, "users must be a whole number (it is True)"),
        ({"users": 1.5}, InputError, "users must be a whole number (it is 1.5)"),
        ({"users": 0}, InputError, "--users must be a whole number of at least 1 (it is 0)"),
        ({"gpus": "two"}, InputError, "gpus must be a whole number (it is 'two')"),
        ({"margin": "little"}, InputError, "margin must be a number (it is 'little')"),
        ({"itl_ms": float("nan")}, InputError, "--itl-ms must be greater than 0 (it is nan)"),
        ({"context": "12x"}, InputError, "--context must look like 32768, 32k or 1m (it is '12x')"),
        ({"context": [1]}, InputError, "context must be a whole number (it is [1])"),
        ({"enforce_eager": 1}, InputError, "enforce_eager must be True or False (it is 1)"),
        ({"strategy": 3}, InputError, "strategy must be text (it is 3)"),
        ({"strategy": "hmb"}, UnknownName, "no strategy named 'hmb'"),
        ({"host": []}, InputError, "no host was named"),
        ({"engine": b"vllm"}, InputError, "engine must be text (it is b'vllm')"),
    ],
)
def test_errors_are_those_of_the_command_line(words: dict[str, Any], kind: type[KvplanError], text: str) -> None:
    with pytest.raises(kind) as caught:
        kvplan.fit(**{"model": "llama3-8b", "host": "rtx4090", **words})
    assert str(caught.value) == text
    assert isinstance(caught.value, kvplan.errors.KvplanError)


def test_what_cannot_be_judged() -> None:
    with pytest.raises(CannotJudge):
        kvplan.kv(model="deepseek-v4-flash", engine="vllm@0.19")
    with pytest.raises(InputError, match="pool_bytes must be a whole number"):
        kvplan.kv(model="llama3-8b", pool_bytes=1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no path was named"):
        kvplan.check()


def test_check_and_diff_take_the_words_of_the_gate(tmp_path: Path) -> None:
    text = "pip install vllm==0.10.2\nvllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 65536\n"
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
    (tmp_path / "b/serve.sh").write_text(text, encoding="utf-8")
    words = {"host": "rtx4090"}
    assert kvplan.check(tmp_path, **words).exit_code == 1
    assert kvplan.check(tmp_path, **words, exit_zero=True).exit_code == 0
    assert kvplan.check(tmp_path / "a", **words, allow_empty=True).exit_code == 0
    file = tmp_path / "baseline.json"
    assert kvplan.check(tmp_path, **words, baseline=file, update_baseline=True).exit_code == 0
    assert kvplan.check(tmp_path, **words, baseline=file).exit_code == 0
    answer = kvplan.diff(tmp_path / "a", tmp_path / "b", **words)
    assert (answer.exit_code, answer.to_json()["schema"]) == (1, "kvplan.diff/1")
    for wrong in ({"fail_on": "info"}, {"update_baseline": True}):
        with pytest.raises(InputError):
            kvplan.check(tmp_path, **wrong)  # type: ignore[arg-type]


def test_the_names_are_listed_and_others_are_not_there() -> None:
    assert dir(kvplan) == ["__version__", "check", "diff", "errors", "fit", "kv", "lock", "sweep"]
    assert kvplan.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="nothing"):
        _ = kvplan.nothing


def test_importing_kvplan_loads_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import kvplan; print(*sorted(set(sys.modules) - before))"
    environment = {**os.environ, "PYTHONPATH": str(Path(kvplan.__file__).parents[1])}
    command = [sys.executable, "-S", "-c", program]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) <= {"kvplan", "__future__"}
