"""Outputs that the README shows are what the commands print. KVPLAN_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
_SHOWN = re.compile(r"(<!-- output: (kvplan [^\n]*?) -->\n```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def printed(command: str) -> str:
    arguments = shlex.split(command)[1:]
    environment = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1"}
    run = [sys.executable, "-m", "kvplan", *arguments]
    done = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
    assert done.stderr == ""
    return f"$ {command}\n\n{done.stdout}"


def test_outputs_are_as_printed() -> None:
    text = README.read_text(encoding="utf-8")
    shown = _SHOWN.findall(text)
    assert shown
    fresh = _SHOWN.sub(lambda match: match[1] + printed(match[2]) + match[4], text)
    if os.environ.get("KVPLAN_UPDATE_GOLDEN"):
        README.write_text(fresh, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == fresh
