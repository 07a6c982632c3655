"""Imports go one way: the contracts of pyproject.toml hold, and the core is arithmetic alone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest.importorskip("importlinter")

CORE_MAY_IMPORT = {"__future__", "math", "typing"}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of ``folder``/pyproject.toml on the package that lies beside it."""
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    command = [sys.executable, "-c", program, "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONUTF8": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def imported_modules(source: str) -> set[str]:
    """Full names of every module that a file imports, wherever in the file it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def declared_rooms(pyproject: str) -> list[str]:
    """The rooms that the layers contract names, top first."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [room for layer in layers for room in re.findall(r"\w+", layer)]


def test_no_contract_is_broken(repository: Path) -> None:
    result = lint_imports(repository)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_core_imports_only_arithmetic(repository: Path) -> None:
    for path in sorted((repository / "kvplan/core").rglob("*.py")):
        outside = {
            name
            for name in imported_modules(path.read_text(encoding="utf-8"))
            if name not in CORE_MAY_IMPORT and name != "kvplan.core" and not name.startswith("kvplan.core.")
        }
        assert not outside, f"{path.relative_to(repository)} imports {sorted(outside)}"


@pytest.mark.parametrize(
    ("room", "statement"),
    [
        ("core", "import kvplan.cli"),
        ("domain", "import kvplan.catalog"),
        ("strategies", "import numba"),
        ("assess", "import numpy"),
        ("rules", "import rich"),
        ("hosts", "import socket"),
        ("catalog", "import huggingface_hub"),
        ("engine_logs", "import kvplan.engines"),
        ("new_room", "import math"),
    ],
)
def test_the_contracts_can_break(tmp_path: Path, repository: Path, room: str, statement: str) -> None:
    """On a skeleton of the package, one wrong import or one undeclared room is found."""
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    for declared in declared_rooms(text):
        skeleton = tmp_path / "kvplan" / declared / "__init__.py"
        skeleton.parent.mkdir(parents=True)
        skeleton.touch()
    (tmp_path / "kvplan/__init__.py").touch()
    assert lint_imports(tmp_path).returncode == 0

    wrong = tmp_path / "kvplan" / room / "__init__.py"
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(statement + "\n", encoding="utf-8")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
