"""What is shipped: the contents of wheel and sdist, and catalogs that are found from any working directory."""

from __future__ import annotations

import email.message
import email.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling")

RUNTIME_DEPENDENCIES = {"numba", "numpy", "pydantic", "pyyaml", "rich", "tomli", "typer"}
CATALOGS = ("hardware.toml", "models.toml")


@pytest.fixture(scope="session")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that is built from that sdist as pip would build it."""
    out = tmp_path_factory.mktemp("dist")
    _hatchling_build("sdist", repository, out)
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        _extract(archive, out / "unpacked")
    _hatchling_build("wheel", sdist_top(out), out)
    return out


def _hatchling_build(target: str, source: Path, out: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    result = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    if hasattr(tarfile, "data_filter"):  # Python 3.10 has it from 3.10.12 on
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)


def sdist_top(built: Path) -> Path:
    """The single folder that an sdist unpacks to."""
    (top,) = (built / "unpacked").iterdir()
    return top


@pytest.fixture(scope="session")
def wheel_names(built: Path) -> set[str]:
    """The files of the wheel."""
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        assert wheel.testzip() is None
        return set(wheel.namelist())


@pytest.fixture(scope="session")
def site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def metadata(site: Path) -> email.message.Message:
    """The wheel's METADATA."""
    (path,) = site.glob("kvplan-*.dist-info/METADATA")
    return email.parser.HeaderParser().parsestr(path.read_text(encoding="utf-8"))


def fit_from(python_path: Path, cwd: Path) -> dict[str, Any]:
    """The answer of a ``kvplan`` that is imported from ``python_path``, started in ``cwd``."""
    program = (
        "import pathlib, kvplan; "
        f"home = pathlib.Path({str(python_path.resolve())!r}); "
        "assert home in pathlib.Path(kvplan.__file__).resolve().parents, kvplan.__file__; "
        "from kvplan.cli import main; main()"
    )
    arguments = ["fit", "--model", "llama3-8b", "--host", "rtx4090", "--format", "json"]
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(python_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert result.returncode in (0, 1), result.stderr
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_wheel_holds_the_package_and_its_catalogs(wheel_names: set[str], repository: Path) -> None:
    sources = {
        path.relative_to(repository).as_posix()
        for path in (repository / "kvplan").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert {"kvplan/py.typed", "kvplan/__init__.py"} <= sources
    assert wheel_names >= sources | {f"kvplan/data/{name}" for name in (*CATALOGS, "rules.md")}


def test_the_wheel_holds_nothing_else(wheel_names: set[str]) -> None:
    others = {name for name in wheel_names if not name.startswith("kvplan/") and ".dist-info/" not in name}
    assert others == set()
    assert not {name for name in wheel_names if "__pycache__" in name or name.endswith((".pyc", ".orig"))}


def test_the_wheel_names_its_command_and_its_licence(site: Path, metadata: email.message.Message) -> None:
    (entry_points,) = site.glob("kvplan-*.dist-info/entry_points.txt")
    assert "kvplan = kvplan.__main__:main" in entry_points.read_text(encoding="utf-8")
    (licence,) = site.glob("kvplan-*.dist-info/**/LICENSE")
    assert "Apache License" in licence.read_text(encoding="utf-8")
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_runtime_needs_seven_packages(metadata: email.message.Message) -> None:
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.split(r"[^\w-]", line)[0].lower() for line in needed} == RUNTIME_DEPENDENCIES
    assert metadata["Requires-Python"] == ">=3.10"


def test_the_version_is_the_package_s_own(metadata: email.message.Message) -> None:
    import kvplan

    assert metadata["Version"] == kvplan.__version__


def test_the_sdist_can_be_built_and_tested(built: Path) -> None:
    top = sdist_top(built)
    for name in (
        ".github/actions/check/action.yml",
        ".pre-commit-hooks.yaml",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "tests/house",
        "examples",
        "docs",
        *CATALOGS,
    ):
        assert (top / name).exists(), name
    names = {path.relative_to(top).parts[0] for path in top.rglob("*")}
    assert not names & {".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "dist", "build"}


def test_catalogs_are_found_from_anywhere(built: Path, site: Path, repository: Path, tmp_path: Path) -> None:
    """Wheel, sdist and checkout answer alike from a foreign folder, which has catalogs of its own lying about."""
    for name in CATALOGS:
        (tmp_path / name).write_text("this is not TOML", encoding="utf-8")
    answers = [fit_from(folder, tmp_path) for folder in (repository, sdist_top(built), site)]
    assert answers[0]["host"]["name"] and answers[0]["model"]["name"]
    digests = {answer["catalog"]["digest"] for answer in answers}
    assert len(digests) == 1, digests


def test_an_installed_package_needs_nothing_beside_it(site: Path, repository: Path, tmp_path: Path) -> None:
    """A copy of the unpacked wheel without its catalogs fails with one line, so the run above did read them."""
    bare = tmp_path / "bare"
    shutil.copytree(site, bare)
    shutil.rmtree(bare / "kvplan/data")
    command = [sys.executable, "-m", "kvplan", "fit", "--model", "llama3-8b", "--host", "rtx4090"]
    environment = {**os.environ, "PYTHONPATH": str(bare)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
