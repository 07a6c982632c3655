"""The repository in ``examples/ci``: one deployment fits, one is tight, one fails, and its README says so."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.kit import Done, kvplan

COMMAND = re.compile(r"^(kvplan .*?)\s+# exit (\d)\b", re.MULTILINE)


@pytest.fixture
def top(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples beside the documentation, the current folder."""
    shutil.copytree(repository / "examples", tmp_path / "examples")
    shutil.copytree(repository / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*arguments: str) -> Done:
    return kvplan("check", "examples/ci", "--host", "h100-server", *arguments)


def test_one_fits_one_is_tight_one_fails(top: Path) -> None:
    answer = checked("--format", "json").answer
    assert {item["name"]: item["outcome"] for item in answer["deployments"]} == {
        "chat": "fits", "summaries": "tight", "agents": "no"}  # fmt: skip
    (fails,) = [item for item in answer["findings"] if item["level"] == "fail"]
    assert fails["where"].startswith("examples/ci/deploy/agents.yaml:")
    assert "max-model-len: " in fails["remedy"]


def test_what_the_remedy_says_would_pass(top: Path) -> None:
    (fails,) = [item for item in checked("-f", "json").answer["findings"] if item["level"] == "fail"]
    file = top / "examples/ci/deploy/agents.yaml"
    length = re.search(r"max-model-len: (\d+)", fails["remedy"])
    assert length
    file.write_text(file.read_text(encoding="utf-8").replace("40960", length[1]), encoding="utf-8")
    assert checked().code == 0


def test_the_readme_says_what_it_does(top: Path, repository: Path) -> None:
    text = (repository / "examples/ci/README.md").read_text(encoding="utf-8")
    commands = COMMAND.findall(text)
    assert len(commands) == 5
    for command, code in commands:
        assert kvplan(*shlex.split(command)[1:]).code == int(code), command
    names = {path.name for path in (top / "examples/ci/deploy").iterdir()}
    assert set(re.findall(r"^\| \[deploy/([\w.]+)\]", text, re.MULTILINE)) == names
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (top / "examples/ci" / link).exists(), link
