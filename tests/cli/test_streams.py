"""Streams that are closed, full, or can't show every character: the exit code is the answer's, without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
FIT = "fit --model llama3-8b --host rtx4090"
WRONG = "fit --model nope --host rtx4090"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell in which ``kvplan`` is this checkout's."""
    script = f'kvplan() {{ "{sys.executable}" -m kvplan "$@"; }}\n{line}'
    how: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "errors": "replace", "timeout": 60}
    return subprocess.run(["sh", "-c", script], env={**os.environ, **environment}, **how)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        pytest.param(f"kvplan {WRONG} --format json > /dev/full", 2, "error: no model named 'nope'", marks=FULL),
        pytest.param(f"kvplan {WRONG} 2> /dev/full", 2, "", marks=FULL),
        pytest.param("kvplan fit --help > /dev/full", 2, "error: cannot write the result: No space left", marks=FULL),
        (f"(kvplan {WRONG} --format json; echo $? >&2) | true", 0, "error: no model named 'nope'"),
        ("kvplan fit --help >&-", 0, ""),
        (f"kvplan {FIT} >&-", 0, ""),
        (f"kvplan {FIT} --format json >&- 2>&-", 0, ""),
        (f"kvplan {WRONG} >&-", 2, "error: no model named 'nope'"),
        (f"kvplan {WRONG} 2>&-", 2, ""),
        ("kvplan check - <&-", 3, ""),
    ],
)
def test_the_exit_code_is_the_answers(line: str, code: int, message: str) -> None:
    done = shell(line)
    assert done.returncode == code, done
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr and "bug" not in done.stderr
    if "| true" in line:
        assert done.stderr.splitlines()[-1] == "2", "the code of kvplan, which the shell does not end with"


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=lambda given: next(iter(given)),
)
@pytest.mark.parametrize("line", ["fit --help", "--help", FIT, "model list", "explain kv-fp8"])
def test_a_terminal_without_unicode(line: str, environment: dict[str, str]) -> None:
    done = shell(f"kvplan {line}", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii() and len(done.stdout) > 200


def test_the_version() -> None:
    done = shell("kvplan --version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "kvplan 0.1.0\n", "")
