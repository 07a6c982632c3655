"""The examples run as their README says, from any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the examples are for a POSIX shell")


@pytest.fixture(scope="module")
def environment(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """PATH with a ``kvplan`` and a ``python`` that are this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module in (("kvplan", "-m kvplan "), ("python", "")):
        path = folder / name
        start = f"#!/bin/sh\nPYTHONPATH='{repository}' exec '{sys.executable}' {module}\"$@\"\n"
        path.write_text(start, encoding="utf-8")
        path.chmod(0o755)
    return {**os.environ, "PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}


def run(command: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


@needs_jq
def test_the_matrix(repository: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(f"'{repository}/examples/matrix.sh' 8k 2", tmp_path, environment)
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["MODEL", "HOST", "VERDICT", "STRATEGY", "USERS", "MS/TOKEN"]
    assert [row.split()[1] for row in rows] == ["rtx4090", "h100-server", "m3-ultra"] * 3
    verdicts = {(row.split()[0], row.split()[1]): row.split()[2:4] for row in rows}
    assert verdicts["Llama-3.1-8B-Instruct", "h100-server"] == ["FITS", "hbm"]
    assert verdicts["Llama-3.1-70B-Instruct", "rtx4090"] == ["NO", "hbm"]


@needs_jq
def test_the_matrix_stops_at_an_error(repository: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(f"'{repository}/examples/matrix.sh' 8x", tmp_path, environment)
    assert "error: --context must look like" in done.stderr


def test_the_plan(repository: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(f"python '{repository}/examples/plan.py' --model llama3-8b --users 4", tmp_path, environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4.0 GiB of KV for each of 4 users" in done.stdout
    assert re.search(r"^Smallest that works: \d of [\w-]+ with [\w+-]+$", done.stdout, re.MULTILINE)
    wrong = run(f"python '{repository}/examples/plan.py' --model lama", tmp_path, environment)
    assert (wrong.returncode, wrong.stderr) == (2, "error: no model named 'lama'\n")


def test_a_plan_that_nothing_meets(repository: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(f"python '{repository}/examples/plan.py' --users 60000", tmp_path, environment)
    assert done.returncode == 1
    assert done.stdout.endswith("None of them works.\n")


def readme_commands(repository: Path) -> list[str]:
    text = (repository / "examples/README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_the_commands_of_the_readme(repository: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    shutil.copytree(repository / "examples", tmp_path / "examples")
    commands = readme_commands(repository)
    assert len(commands) >= 4
    for command in commands:
        if "matrix.sh" in command and shutil.which("jq") is None:
            continue
        done = run(command, tmp_path, environment)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_every_example_is_in_the_readme(repository: Path) -> None:
    text = (repository / "examples/README.md").read_text(encoding="utf-8")
    names = {path.name for path in (repository / "examples").iterdir()} - {"README.md"}
    assert {name for name in names if f"]({name})" not in text} == set()


def test_the_host_file_gives_the_host_that_it_describes(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    done = run(f"kvplan host show '{repository}/examples/my-host.toml'", tmp_path, environment)
    assert done.stdout.startswith("render-box: ")
    assert "140 (125..158)" in done.stdout
