"""The core, compiled by Numba: the same functions, registered rather than rewritten. The only importer of numba.

``register_jitable`` lets compiled code call the plain functions of ``kvplan.core``; the loops over grids are compiled
here. Machine code is kept in a folder of its own for every state of the sources, since Numba's own key covers only the
file of the compiled function: after an edit of the core it would return the old number.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

import kvplan.core
from kvplan.core.accounts import Loads
from kvplan.core.answers import Answers, Ends, Questions, answer_ends
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import loads, outcome

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class GridJudgement(NamedTuple):
    """One strategy over a grid: arrays of the shape (contexts, users)."""

    outcomes: NDArray[np.int64]
    """The core's outcome codes."""
    itl_s: NDArray[np.float64]
    """Time of a decode step at the best estimate."""
    optimistic: NDArray[np.float64]
    """Loads of the optimistic end, what a no is decided by; shape (contexts, users, fields of Loads)."""


def core_functions() -> Iterator[FunctionType]:
    """Every public and private function that a module of the core defines, in a stable order."""
    for module_info in sorted(iter_modules(kvplan.core.__path__), key=lambda info: info.name):
        module = import_module(f"kvplan.core.{module_info.name}")
        for name in sorted(vars(module)):
            value = vars(module)[name]
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                yield value


def source_digest() -> str:
    """What compiled code depends on: the core's sources, this file, and the versions of Python, Numba and NumPy."""
    digest = hashlib.sha256("\n".join((sys.version, numba.__version__, np.__version__)).encode())
    for source in (*sorted(Path(kvplan.core.__path__[0]).glob("*.py")), Path(__file__)):
        text = source.read_bytes()
        digest.update(f"{source.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Where compiled code is kept: ``KVPLAN_CACHE_DIR``, else the user's cache folder; temporary if it must be.

    The files are pickles, so a folder that others own or may write to is never used.
    """
    for base in (os.environ.get("KVPLAN_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"), "~/.cache"):
        if base and os.path.isabs(os.path.expanduser(base)):
            folder = Path(base).expanduser() / "kvplan" / source_digest()
            if is_private(folder.parent) and is_private(folder):
                return folder
            break
    temporary = tempfile.mkdtemp(prefix="kvplan-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def is_private(folder: Path) -> bool:
    """Make the folder if it is missing; whether it is a real folder of this user that nobody else can write to."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True, mode=stat.S_IRWXU)
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if sys.platform == "win32":  # access lists, not mode bits; the profile's own folder is the user's
        return True
    return status.st_uid == os.getuid() and not status.st_mode & OTHERS_MAY_WRITE


def is_cold(function: Callable[..., Any]) -> bool:
    """Whether a compiled loop of this file must be compiled first, which takes seconds."""
    return next(cache_folder().rglob(f"*{function.__name__}-*.nbi"), None) is None


def cached(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loop of this file, compiled on first use and kept in ``cache_folder()``.

    Numba fixes the folder when a function is decorated, so its setting is changed for that moment only: a program
    that uses Numba for itself keeps its own.
    """
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        return cast("Callable[..., Any]", numba.njit(cache=True)(function))
    finally:
        settings.CACHE_DIR = before


def call_cached(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a loop that ``cached`` made. Where its kept code is damaged, everything kept is discarded and compiled anew.

    Damaged pickles raise nearly every kind of error, all of them before the loop has run.
    """
    loaded = len(function.signatures)  # type: ignore[attr-defined]
    try:
        return function(*arguments)
    except Exception:
        kept = [path for ending in ("*.nbi", "*.nbc") for path in cache_folder().rglob(ending)]
        if not kept or len(function.signatures) > loaded:  # type: ignore[attr-defined]
            raise
        for path in kept:
            path.unlink(missing_ok=True)
        return function(*arguments)


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A core function as compiled code, for tests that compare both speeds."""
    return cast("Callable[..., Any]", numba.njit(function))


for _function in core_functions():
    register_jitable(_function)


@cached
def judge_points(  # type: ignore[no-untyped-def]
    ends, margin_fraction, contexts, users, outcomes, itl_s, optimistic
):
    """The loop behind ``judge_grid``; fills the last three arrays."""
    low, best, high = ends
    for row in range(contexts.shape[0]):
        for column in range(users.shape[0]):
            context = contexts[row]
            count = users[column]
            lightest = loads(low, context, count)
            outcomes[row, column] = outcome(
                lightest, loads(best, context, count), loads(high, context, count), margin_fraction
            )
            itl_s[row, column] = decode_step(best, place(best, context, count), context, count).itl_s
            for field in range(len(lightest)):
                optimistic[row, column, field] = lightest[field]


def as_floats(record: Any) -> Any:
    """The same record with floats only: an integer among them would be another signature, compiled for seconds."""
    if not isinstance(record, tuple):
        return float(record)
    values = [as_floats(value) for value in record]
    return type(record)._make(values) if hasattr(record, "_make") else tuple(values)


@cached
def answer_points(ends, questions):  # type: ignore[no-untyped-def]
    """``core.answers.answer_ends``, compiled."""
    return answer_ends(ends, questions)


def fast_answers(ends: Ends, questions: Questions) -> Answers:
    """The answers of one strategy's plans, many times as fast as Python gives them.

    Plans must hold floats only, as ``assess`` makes them: an integer would be another signature, compiled for seconds.
    """
    found: Answers = call_cached(answer_points, ends, questions)
    return found


def judge_grid(
    ends: tuple[Plan, Plan, Plan], margin_fraction: float, contexts: NDArray[np.float64], users: NDArray[np.float64]
) -> GridJudgement:
    """One strategy, given by its optimistic, best and pessimistic plan, at every context with every number of users."""
    shape = (contexts.shape[0], users.shape[0])
    judged = GridJudgement(np.empty(shape, np.int64), np.empty(shape), np.empty((*shape, len(Loads._fields))))
    call_cached(judge_points, as_floats(ends), float(margin_fraction), contexts, users, *judged)
    return judged
