"""``kvplan check`` as a CI job sees it: the first line, the lines to click on, the JSON, the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.cli.kit import kvplan
from tests.golden_kit import check_golden

FITS = """schema = "kvplan.deployment/1"
model = "llama3-8b"
host = "h100-server"
gpus = 1
engine = "vllm@0.21"

[settings]
max_model_len = 32768

[workload]
context = "32k"
users = 8
"""
TOO_LONG = """#!/bin/bash
pip install vllm==0.10.2
vllm serve meta-llama/Llama-3.1-8B-Instruct \\
  --max-model-len 65536
"""
POD = """apiVersion: v1
kind: Pod
metadata:
  name: summaries
spec:
  containers:
  - name: server
    image: vllm/vllm-openai:v0.10.2
    args:
    - --model=Qwen/Qwen2.5-7B-Instruct
    - --max-model-len=$(LENGTH)
    resources:
      limits: {nvidia.com/gpu: 1, cpu: 4}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three deployments; the test runs where they are, so that paths are short and the same everywhere."""
    (tmp_path / "chat.toml").write_text(FITS, encoding="utf-8")
    (tmp_path / "serve.sh").write_text(TOO_LONG, encoding="utf-8")
    (tmp_path / "pod.yaml").write_text(POD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_as_text(folder: Path) -> None:
    done = kvplan("check", ".", "--host", "rtx4090")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("1 of 3 deployments is over budget")
    check_golden("check-folder.txt", done.out)


def test_a_folder_as_markdown(folder: Path) -> None:
    check_golden("check-folder.md", kvplan("check", ".", "--host", "rtx4090", "--format", "markdown").out)


def test_a_folder_as_json(folder: Path) -> None:
    done = kvplan("check", ".", "--host", "rtx4090", "--format", "json")
    assert done.code == 1
    assert done.answer["schema"] == "kvplan.check/1"
    assert done.answer["summary"]["deployments"] == 3
    names = {item["name"]: item for item in done.answer["deployments"]}
    assert names["serve"]["settings"]["max_model_len"] == {"value": 65536, "where": "serve.sh:4", "default_of": None}
    assert names["serve"]["settings"]["gpu_memory_utilization"] == {
        "value": 0.9, "where": None, "default_of": "vllm 0.10.2"}  # fmt: skip
    assert names["serve"]["engine_version"] == "0.10.2"
    assert {name: item["outcome"] for name, item in names.items()} == {
        "chat": "fits", "serve": "no", "summaries": "unknown"}  # fmt: skip
    for item in done.answer["findings"]:
        assert item["where"].rsplit(":", 1)[1].isdigit()
        assert set(item) == {"rule", "level", "deployment", "where", "message", "figures", "formula", "remedy",
                             "suppressed"}  # fmt: skip


def test_the_json_is_what_the_schema_says(folder: Path) -> None:
    schema = kvplan("schema", "check").answer
    (folder / "broken.toml").write_text('schema = "kvplan.deployment/1"\na = = 1\n', encoding="utf-8")
    (folder / "odd.toml").write_text(FITS + "[settigns]\nx = nan\n", encoding="utf-8")
    jsonschema.validate(kvplan("check", ".", "--format", "json").answer, schema)


@pytest.mark.parametrize(("arguments", "code"), [
    (["chat.toml"], 0), (["serve.sh", "--host", "rtx4090"], 1), (["serve.sh", "--host", "h100-server"], 0),
    (["serve.sh"], 0), (["serve.sh", "--fail-on", "unknown"], 1), (["serve.sh", "--fail-on", "warn"], 0),
    (["serve.sh", "--host", "rtx4090", "--exit-zero"], 0), (["pod.yaml", "--host", "rtx4090"], 0),
    (["pod.yaml", "--host", "rtx4090", "--fail-on", "warn"], 1), (["none.yaml"], 2), (["serve.sh", "--host", "h99"], 2),
    (["serve.sh", "--fail-on", "info"], 2), (["serve.sh", "--baseline", "none.json"], 2),
    (["serve.sh", "--format", "xml"], 2), ([], 2), (["serve.sh", "--update-baseline"], 2),
    (["serve.sh", "-H", "rtx4090", "-o", "sarif=a.sarif", "-f", "junit"], 1), (["chat.toml", "--allow-empty"], 0),
])  # fmt: skip
def test_exit_codes(folder: Path, arguments: list[str], code: int) -> None:
    assert kvplan("check", *arguments).code == code


def test_nothing_recognised_is_not_a_pass(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("hello\n")
    for path in ("empty", "notes.txt"):
        done = kvplan("check", path)
        assert (done.code, done.out.splitlines()[0]) == (3, "no deployment is recognised")
        assert kvplan("check", path, "--exit-zero").code == 3
        assert kvplan("check", path, "--allow-empty").code == 0


def test_a_usage_error_is_json_where_json_is_asked_for(folder: Path) -> None:
    done = kvplan("check", "none.yaml", "--format", "json")
    assert (done.code, done.answer["schema"]) == (2, "kvplan.error/1")


def test_an_earlier_run_as_a_baseline(folder: Path) -> None:
    before = kvplan("check", ".", "--host", "rtx4090", "--format", "json").out
    (folder / "baseline.json").write_text(before, encoding="utf-8")
    (folder / "serve.sh").write_text(TOO_LONG.replace("pip", "# moved down by a line\npip"), encoding="utf-8")
    again = kvplan("check", ".", "--host", "rtx4090", "--baseline", "baseline.json", "--format", "json")
    assert again.code == 0
    assert {item["suppressed"] for item in again.answer["findings"]} == {"baseline"}
    assert again.answer["summary"]["fail"] == 0
    (folder / "serve.sh").write_text(TOO_LONG.replace("65536", "131072"), encoding="utf-8")
    assert kvplan("check", ".", "--host", "rtx4090", "--baseline", "baseline.json").code == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "kvplan.fit/1", "findings": []}', "[" * 100_000])
def test_a_baseline_that_is_none(folder: Path, text: str) -> None:
    (folder / "baseline.json").write_text(text)
    done = kvplan("check", "chat.toml", "--baseline", "baseline.json")
    assert done.code == 2
    assert "baseline.json" in done.err


def test_reasons_in_the_file(folder: Path) -> None:
    reason = "# kvplan: ignore KV102, KV104 the card is swapped next week\n"
    (folder / "serve.sh").write_text(TOO_LONG.replace("vllm serve", f"{reason}vllm serve"), encoding="utf-8")
    done = kvplan("check", "serve.sh", "--host", "rtx4090")
    assert done.code == 0
    assert "KV102 suppressed (the card is swapped next week)" in done.out
    assert "1 suppressed" in done.out.splitlines()[0]


def test_a_rendered_manifest_from_standard_input(folder: Path) -> None:
    command = [sys.executable, "-m", "kvplan", "check", "-", "--host", "rtx4090", "--format", "json"]
    done = subprocess.run(command, input=POD.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["deployments"][0]["where"] == "-:10"


def test_yaml_is_loaded_only_for_yaml(folder: Path) -> None:
    code = (
        "import sys; from kvplan.results.check import check; check(['chat.toml']); "
        "heavy = {'yaml', 'numba', 'numpy', 'pydantic', 'rich'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_output_at_once(folder: Path) -> None:
    done = kvplan("check", ".", "--host", "rtx4090", "-o", "out.json", "-o", "markdown=summary.md", "-f", "table")
    assert done.code == 1
    assert done.out.startswith("1 of 3")
    assert json.loads((folder / "out.json").read_text())["schema"] == "kvplan.check/1"
    assert (folder / "summary.md").read_text().startswith("<!-- kvplan check -->\n**kvplan check:**")


def test_outputs_beside_what_is_printed(folder: Path) -> None:
    """A job that only writes files would fail without a word in its log."""
    names = {"a.sarif": "sarif", "a.xml": "junit", "a.json": "json", "a.md": "markdown"}
    files = [f"{form}={form}.out" for form in ("concise", "github", "gitlab", "text")] + list(names)
    done = kvplan("check", ".", "--host", "rtx4090", *(part for name in files for part in ("-o", name)))
    assert (done.code, done.out) == (1, kvplan("check", ".", "--host", "rtx4090").out)
    for name, form in names.items():
        alone = kvplan("check", ".", "--host", "rtx4090", "-f", form)
        assert (alone.code, alone.out) == (1, (folder / name).read_text(encoding="utf-8"))
    assert done.out == (folder / "text.out").read_text(encoding="utf-8")


def test_a_baseline_from_its_making_to_its_end(folder: Path) -> None:
    made = kvplan("check", ".", "--host", "rtx4090", "--baseline", "b.json", "--update-baseline")
    assert (made.code, json.loads((folder / "b.json").read_text())["schema"]) == (0, "kvplan.baseline/1")
    assert kvplan("check", ".", "--host", "rtx4090", "--baseline", "b.json", "--fail-on", "unknown").code == 0
    (folder / "serve.sh").write_text(TOO_LONG.replace("65536", "98304"), encoding="utf-8")
    assert kvplan("check", ".", "--host", "rtx4090", "--baseline", "b.json").code == 1
    (folder / "serve.sh").write_text(TOO_LONG.replace("65536", "4096"), encoding="utf-8")
    fixed = kvplan("check", ".", "--host", "rtx4090", "--baseline", "b.json")
    assert (fixed.code, "1 record of the baseline is fixed" in fixed.out) == (0, True)


def test_the_help(folder: Path) -> None:
    for word in ("--host", "--fail-on", "--exit-zero", "--baseline", "--allow-empty", "sarif", "Exit codes"):
        assert word in kvplan("check", "--help").out


def test_a_model_that_is_a_number_is_still_what_the_schema_says(folder: Path) -> None:
    (folder / "chat.toml").write_text(FITS.replace('"llama3-8b"', "5").replace('"h100-server"', "7"), encoding="utf-8")
    done = kvplan("check", "chat.toml", "--format", "json")
    jsonschema.validate(done.answer, kvplan("schema", "check").answer)
    assert (done.answer["deployments"][0]["model"], done.answer["deployments"][0]["host"]) == ("5", "7")


def test_a_name_can_not_format_the_summary(folder: Path) -> None:
    name = 'name = "\\u001b[31m<img src=x> `a` | b [c](d)"\n'
    (folder / "chat.toml").write_text(FITS.replace("[settings]", name + "[settings]", 1), encoding="utf-8")
    (folder / "a`b|c.sh").write_text(TOO_LONG, encoding="utf-8")
    for text in (kvplan("check", ".", "--format", format).out for format in ("markdown", "table")):
        assert "\x1b" not in text
    done = kvplan("check", ".", "--host", "rtx4090", "--format", "markdown").out
    assert "\N{REPLACEMENT CHARACTER}\\[31m\\<img src=x> \\`a\\` \\| b \\[c\\](d)" in done
    assert "| a\\`b\\|c.sh:3 |" in done


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_baseline_that_never_ends(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    done = kvplan("check", "chat.toml", "--baseline", "pipe")
    assert (done.code, "not a regular file" in done.err) == (2, True)


def test_a_baseline_that_is_too_large(folder: Path) -> None:
    with open(folder / "large.json", "wb") as file:
        file.truncate(16 * 2**20 + 1)
    done = kvplan("check", "chat.toml", "--baseline", "large.json")
    assert (done.code, "16 MiB" in done.err) == (2, True)


def test_a_catalog_key_that_would_take_minutes(folder: Path) -> None:
    (folder / "own.toml").write_text("[models.x]\na" + ".a" * 40_000 + " = 1\n", encoding="utf-8")
    done = kvplan("check", "chat.toml", "--catalog", "own.toml", "--host", "rtx4090")
    assert "own.toml" in done.err + done.out
    assert "more than 100 dots" in done.err + done.out
