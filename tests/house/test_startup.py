"""What a plain ``kvplan fit`` loads: an answer must not wait for libraries that it does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FIT = ["fit", "--model", "llama3-70b", "--host", "rtx4090"]
NEVER = {
    "numba", "llvmlite", "numpy", "yaml", "pydantic.main", "matplotlib", "pyarrow", "huggingface_hub",
    "kvplan.checkpoints.gguf", "kvplan.checkpoints.safetensors", "kvplan.checkpoints.hub", "kvplan.checkpoints.read",
    "kvplan.catalog.imports",
}  # fmt: skip
"""Libraries, and kvplan's own readers of what a catalog row does not need."""


def modules_loaded_by(arguments: list[str], cwd: Path) -> tuple[set[str], str]:
    """The modules that one run imports, read from the interpreter's own trace, and what the run printed."""
    command = [sys.executable, "-X", "importtime", "-m", "kvplan", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=120)
    trace = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    messages = [line for line in result.stderr.splitlines() if not line.startswith("import time:")]
    assert result.returncode in (0, 1), "\n".join(messages)
    return {line.rpartition("|")[2].strip() for line in trace}, result.stdout


def loaded(modules: set[str], unwanted: set[str]) -> set[str]:
    return {module for module in modules for name in unwanted if module == name or module.startswith(name + ".")}


@pytest.mark.parametrize(("output_format", "unwanted"), [("json", NEVER | {"rich"}), ("table", NEVER)])
def test_fit_loads_no_more_than_it_needs(tmp_path: Path, output_format: str, unwanted: set[str]) -> None:
    modules, stdout = modules_loaded_by([*FIT, "--format", output_format], tmp_path)
    assert loaded(modules, {"kvplan.core"}), "the trace shows what was imported"
    assert stdout.strip()
    assert loaded(modules, unwanted) == set()
