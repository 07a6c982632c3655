"""The README's commands run as written, and end with the exit code that it names (0 where it names none)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")

_FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"#.*\bexit (\d+)\b")


def commands(markdown: str) -> list[tuple[str, int]]:
    """Every line of a ``sh`` block that starts with ``kvplan``, and the exit code after ``# exit``."""
    lines = [line for block in _FENCED.findall(markdown) for line in block.replace("\\\n", " ").splitlines()]
    found = [line.strip() for line in lines if line.startswith("kvplan ")]
    return [(line, int(code[1]) if (code := _EXIT_CODE.search(line)) else 0) for line in found]


def setup_line(name: str) -> list[str]:
    """The lines of the code block right after the marker of a set-up line."""
    block = re.search(rf"^<!-- setup:{name} -->\n```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return block[1].splitlines() if block else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, where commands may write, and a ``kvplan`` that is this checkout's."""
    top = tmp_path_factory.mktemp("readme")
    command = top / "bin/kvplan"
    command.parent.mkdir()
    command.write_text(
        f"#!/bin/sh\nPYTHONPATH='{REPOSITORY}' exec '{sys.executable}' -m kvplan \"$@\"\n", encoding="utf-8"
    )
    command.chmod(0o755)
    shutil.copytree(REPOSITORY / "examples", top / "examples")
    for catalog in REPOSITORY.glob("*.toml"):
        shutil.copy(catalog, top)
    return top


@pytest.mark.skipif(os.name == "nt", reason="the README's commands are for a POSIX shell")
@pytest.mark.parametrize(("command", "exit_code"), commands(README))
def test_commands_run_as_written(command: str, exit_code: int, folder: Path) -> None:
    if "| jq" in command and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    environment = {**os.environ, "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])}
    result = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    output = (result.stdout + result.stderr).decode("utf-8", "replace")
    assert result.returncode == exit_code, output
    assert "Traceback" not in output
    assert result.stdout if exit_code in (0, 1) else result.stderr


def test_the_readme_shows_commands() -> None:
    assert len(commands(README)) >= 3
    example = "```sh\nkvplan fit \\\n--users 9  # exit 1\nls\n```\n"
    assert commands(example) == [("kvplan fit  --users 9  # exit 1", 1)]


@pytest.mark.parametrize(("name", "ending"), [("fit", "kvplan fit"), ("test", "-m pytest")])
def test_each_set_up_is_one_line(name: str, ending: str) -> None:
    lines = setup_line(name)
    assert len(lines) == 1, f"README.md: <!-- setup:{name} --> and a code block of one line"
    assert lines[0].startswith("python3 -m venv ")
    assert ending in lines[0].split("&&")[-1]
