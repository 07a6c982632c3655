"""``kvplan diff`` as a reviewer and a CI job see it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.kit import kvplan
from tests.golden_kit import check_golden
from tests.results.check_kit import SHORT, TOO_LONG
from tests.results.git_kit import repository_with
from tests.results.test_diff import LARGER, POD


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = repository_with(
        tmp_path / "repository",
        {"chat.yaml": POD, "old.sh": SHORT, "gone.sh": SHORT.replace("8192", "4096")},
        {"chat.yaml": LARGER, "old.sh": None, "gone.sh": None, "new.sh": SHORT, "long.sh": TOO_LONG},
    )
    monkeypatch.chdir(folder)
    return folder


def test_as_text(top: Path) -> None:
    done = kvplan("diff", "c0", "c1", "--host", "rtx4090")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("c0 -> c1: deployments: 1 added, 1 removed, 2 changed; findings: ")
    check_golden("diff-folder.txt", done.out)


def test_as_markdown(top: Path) -> None:
    done = kvplan("diff", "c0", "c1", "--host", "rtx4090", "--format", "markdown")
    assert done.out.splitlines()[0] == "<!-- kvplan diff -->"
    check_golden("diff-folder.md", done.out)


def test_as_json(top: Path) -> None:
    done = kvplan("diff", "c0", "c1", "--host", "rtx4090", "--format", "json")
    assert done.code == 1
    jsonschema.validate(done.answer, kvplan("schema", "diff").answer)
    assert done.answer["schema"] == "kvplan.diff/1"
    assert len(done.answer["base"]["commit"]) == 40
    assert done.answer["summary"]["deployments"] == {"added": 1, "removed": 1, "changed": 2, "unchanged": 0}
    chat = next(item for item in done.answer["deployments"] if item["name"] == "chat")
    assert chat["figures"]["pinned_host_bytes"] == {"old": 0, "new": 96 * 2**30}
    assert {item["name"]: (item["old"], item["new"]) for item in chat["settings"]} == {
        "gpu_memory_utilization": (0.9, 0.6), "kv_offloading_size": (None, 96.0)}  # fmt: skip
    jsonschema.validate(kvplan("diff", "c0", ".", "-f", "json").answer, kvplan("schema", "diff").answer)


def test_the_same_bytes_again(top: Path) -> None:
    for form in ("text", "json", "markdown"):
        texts = {kvplan("diff", "c0", "c1", "--host", "rtx4090", "--format", form).out for _ in range(2)}
        assert len(texts) == 1 and "kvplan-diff-" not in texts.pop()


def test_several_outputs_at_once(top: Path) -> None:
    done = kvplan("diff", "c0", "c1", "-H", "rtx4090", "-o", "d.json", "-o", "markdown=d.md")
    assert (done.code, done.out[:8]) == (1, "c0 -> c1")
    assert json.loads((top / "d.json").read_text(encoding="utf-8"))["schema"] == "kvplan.diff/1"
    assert (top / "d.md").read_text(encoding="utf-8").startswith("<!-- kvplan diff -->")


@pytest.mark.parametrize(("arguments", "code"), [
    (["c0", "c0"], 0), (["c0", "c1"], 1), (["c1", "c0"], 0), (["c0", "c1", "--exit-zero"], 0), (["c0", "nope"], 2),
    (["c0"], 2), (["c0", "c1", "nope.sh"], 2), (["c0", "c1", "--fail-on", "info"], 2), (["c0", "c1", "-f", "sarif"], 2),
    (["--", "-c", "c1"], 2), (["c0", "c1", "gone.sh", "--fail-on", "unknown"], 0),
])  # fmt: skip
def test_exit_codes(top: Path, arguments: list[str], code: int) -> None:
    assert kvplan("diff", *arguments, *(["-H", "rtx4090"] if "--" not in arguments else [])).code == code


def test_the_help() -> None:
    shown = kvplan("diff", "--help").out
    for word in ("base", "head", "--host", "--fail-on", "--baseline"):
        assert word in shown
