"""The core at both speeds: the same bits, and never a stale number out of the cache."""

from __future__ import annotations

import ast
import math
import os
import random
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from kvplan import compiled
from kvplan.assess import build_frame
from kvplan.assess.frame import plan_ends
from kvplan.assess.judge import find_excuse
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.core.verdicts import loads, outcome
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.strategies import all_strategies
from tests.core.inputs import NoRecipe, arguments, recipe

DRAWS = 300
FUNCTIONS = list(compiled.core_functions())
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions there are no mode bits")


def bits(value: Any) -> Any:
    """A value as something that is equal only where every bit of it is; all NaNs are one."""
    if isinstance(value, tuple):
        return type(value).__name__, tuple(bits(item) for item in value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return type(value).__name__, value


def result(function: Any, given: tuple[Any, ...]) -> Any:
    """What a call returns, or which exception it raises."""
    try:
        return bits(function(*given))
    except (ArithmeticError, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_interpreted_and_compiled_results_are_bit_identical(function: FunctionType) -> None:
    fast = compiled.compile_function(function)
    draw = random.Random(function.__name__)
    seen = set()
    for _ in range(DRAWS):
        given = arguments(function, draw)
        slow = result(function, given)
        assert result(fast, given) == slow, given
        seen.add(slow)
    assert len(seen) >= 4, "nearly every draw gave the same result: the recipes do not reach this function"


def test_every_function_of_the_core_is_found() -> None:
    sources = Path(compiled.kvplan.core.__path__[0]).glob("*.py")
    written = {
        (path.stem, node.name)
        for path in sources
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {(function.__module__.rpartition(".")[2], function.__name__) for function in FUNCTIONS} == written
    assert len(written) > 30


def test_a_name_without_a_recipe_fails() -> None:
    with pytest.raises(NoRecipe, match="flux"):
        recipe("flux")


def test_the_comparison_sees_single_bits() -> None:
    assert bits(1.0) != bits(math.nextafter(1.0, 2.0))
    assert bits(0.0) != bits(-0.0)
    assert bits((1.0, float("nan"))) == bits((1.0, float("nan")))
    assert bits(1) != bits(1.0)
    assert bits(True) != bits(1)


@pytest.mark.parametrize(
    ("model", "host"), [("llama3-8b", "h100-server"), ("gpt-oss-20b", "rtx4090"), ("deepseek-v2-lite", "m3-ultra")]
)
def test_a_grid_holds_what_single_points_give(model: str, host: str) -> None:
    contexts, users = [1.0, 4096.0, 32768.0], [1.0, 3.0, 64.0, 1000.0]
    frame = build_frame(resolve(Words(model=model, host=host)))
    judged = 0
    for strategy in all_strategies().values():
        if find_excuse(frame, strategy) is not None:
            continue
        ends = plan_ends(frame, strategy)
        grid = compiled.judge_grid(ends, 0.05, np.array(contexts), np.array(users))
        for row, context in enumerate(contexts):
            for column, count in enumerate(users):
                three = [loads(end, context, count) for end in ends]
                itl_s = decode_step(ends[1], place(ends[1], context, count), context, count).itl_s
                assert grid.outcomes[row, column] == outcome(*three, 0.05)
                assert grid.itl_s[row, column] == itl_s
                assert tuple(grid.optimistic[row, column]) == three[0]
                judged += 1
    assert judged > 12


def test_plans_with_integers_do_not_become_another_signature() -> None:
    frame = build_frame(resolve(Words(model="llama3-8b", host="h100-server")))
    ends = plan_ends(frame, all_strategies()["hbm"])
    limits = ends[1].limits._replace(engine_dram_bytes=3, itl_s=1)
    mixed = (ends[0], ends[1]._replace(limits=limits), ends[2])
    before = len(compiled.judge_points.signatures)  # type: ignore[attr-defined]
    compiled.judge_grid(mixed, 0, np.array([1.0]), np.array([1.0]))
    compiled.judge_grid(ends, 0.05, np.array([1.0]), np.array([1.0]))
    assert len(compiled.judge_points.signatures) - before <= 1  # type: ignore[attr-defined]


PROBE = """
import numpy as np
import kvplan.compiled as compiled
from tests.core.plans import full, plan as plan_of
plan = plan_of(full(1e5), hbm_bytes=1e11, kv_bytes_per_s=1e12)
print(compiled.is_cold(compiled.judge_points), end=" ")
print(compiled.judge_grid((plan, plan, plan), 0.05, np.array([1000.0]), np.array([4.0])).itl_s[0, 0], end=" ")
print(compiled.is_cold(compiled.judge_points), end=" ")
print(compiled.cache_folder())
"""


def probe(package_parent: Path, cache: Path, repository: Path, **environment: str) -> list[str]:
    """Was it cold, the time of a step, is it cold now, and where compiled code is kept: from a process of its own."""
    paths = os.pathsep.join((str(package_parent), str(repository)))
    variables = {**os.environ, "PYTHONPATH": paths, "KVPLAN_CACHE_DIR": str(cache), **environment}
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, env=variables, cwd=cache, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_edit_of_the_core_is_noticed_and_what_is_unchanged_is_not_compiled_again(
    tmp_path: Path, repository: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    copy = tmp_path / "copy" / "kvplan"
    shutil.copytree(repository / "kvplan", copy, ignore=shutil.ignore_patterns("__pycache__"))
    cold, first_s, cold_after, folder = probe(copy.parent, cache, repository, NUMBA_CACHE_DIR=str(tmp_path / "other"))
    assert (cold, cold_after) == ("True", "False")
    assert Path(folder).is_relative_to(cache)
    assert not (tmp_path / "other").exists(), "a folder that is not named by the sources would go stale"

    assert probe(copy.parent, cache, repository) == ["False", first_s, "False", folder]

    with (copy / "core" / "kv_cache.py").open("a", encoding="utf-8") as source:
        source.write("\n\ndef growing_read_bytes(kv: KvGrowths, tokens: float) -> float:\n    return 123456789.0\n")
    cold, edited_s, _, edited_folder = probe(copy.parent, cache, repository)
    assert cold == "True"
    assert edited_s != first_s
    assert edited_folder != folder


@posix_only
def test_the_cache_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KVPLAN_CACHE_DIR", str(tmp_path / "new"))
    folder = compiled.cache_folder.__wrapped__()
    assert folder == tmp_path / "new" / "kvplan" / compiled.source_digest()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert compiled.cache_folder.__wrapped__() == folder


@posix_only
@pytest.mark.parametrize("case", ["others may write", "a link", "a file in the way", "relative"])
def test_a_folder_that_cannot_be_trusted_is_not_used(
    case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    if case == "others may write":
        (base / "kvplan").mkdir()
        (base / "kvplan").chmod(0o777)
    elif case == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (base / "kvplan").symlink_to(tmp_path / "elsewhere")
    elif case == "a file in the way":
        (base / "kvplan").write_text("")
    monkeypatch.setenv("KVPLAN_CACHE_DIR", "base" if case == "relative" else str(base))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = compiled.cache_folder.__wrapped__()
    assert not folder.is_relative_to(base)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    if case != "relative":
        assert folder.parent == tmp_path
        assert folder.name.startswith("kvplan-")


def test_a_temporary_cache_is_gone_when_the_process_ends(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "kvplan").write_text("in the way")
    code = "import kvplan.compiled as compiled; folder = compiled.cache_folder(); print(folder, folder.is_dir())"
    variables = {
        **os.environ,
        "PYTHONPATH": str(repository),
        "KVPLAN_CACHE_DIR": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    folder, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(folder).exists()


def test_the_digest_follows_every_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    core = tmp_path / "core"
    shutil.copytree(Path(compiled.kvplan.core.__path__[0]), core, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiled.kvplan.core, "__path__", [str(core)])
    before = compiled.source_digest()
    for source in sorted(core.glob("*.py")):
        text = source.read_text(encoding="utf-8")
        source.write_text(text + "\n", encoding="utf-8")
        assert compiled.source_digest() != before, source.name
        source.write_text(text, encoding="utf-8")
    assert compiled.source_digest() == before
    monkeypatch.setattr(compiled.numba, "__version__", "0.0")
    assert compiled.source_digest() != before
