"""Small deployments with a known fate, and what ``check`` says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvplan.results.check import CheckResult, Gate, check
from kvplan.rules.interface import Finding

HOST = "rtx4090"

TOO_LONG = """#!/bin/bash
pip install vllm==0.10.2
vllm serve meta-llama/Llama-3.1-8B-Instruct \\
  --max-model-len 65536
"""
"""Fails on ``HOST``: one request needs 8 GiB, and there are about 5. The flag to blame is on line 4."""

SHORT = TOO_LONG.replace("65536", "8192")
"""Fits."""


def checked(folder: Path, files: dict[str, str], *, host: str | None = HOST, **words: Any) -> CheckResult:
    """The files, written below ``folder`` and checked there. Words of ``Gate`` and of ``check`` may be mixed."""
    write(folder, files)
    gate = Gate(**{name: words.pop(name) for name in list(words) if name in Gate.__dataclass_fields__})
    return check([str(folder)], host=host, gate=gate, **words)


def write(folder: Path, files: dict[str, str]) -> None:
    """Files by their path below ``folder``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def failing(answer: CheckResult) -> Finding:
    """The one finding of level fail."""
    (found,) = [item for item in answer.findings if item.level == "fail"]
    return found


def rule_of(folder: Path, files: dict[str, str], **words: Any) -> str:
    """The id of the rule that fails there."""
    return failing(checked(folder, files, **words)).rule
