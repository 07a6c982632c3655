"""The core, compiled by Numba: the same functions, registered rather than rewritten. The only importer of numba.

``register_jitable`` lets compiled code call the plain functions of ``kvplan.core``; the loops over grids are compiled
here. Compiled machine code is kept in a folder that is named by a digest of the core's sources and the versions of
Python and Numba, since Numba's own key covers only the file of the compiled function.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType
from typing import Any, cast

import kvplan.core


def core_functions() -> Iterator[FunctionType]:
    """Every public and private function that a module of the core defines, in a stable order."""
    for module_info in sorted(iter_modules(kvplan.core.__path__), key=lambda info: info.name):
        module = import_module(f"kvplan.core.{module_info.name}")
        for name in sorted(vars(module)):
            value = vars(module)[name]
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                yield value


def cache_folder() -> Path:
    """Where compiled code is kept: private to the user, new for every state of the sources; temporary if it must be."""
    digest = hashlib.sha256(sys.version.encode())
    sources = [*sorted(Path(kvplan.core.__path__[0]).glob("*.py")), Path(__file__)]
    for source in sources:
        digest.update(source.read_bytes())
    base = os.environ.get("KVPLAN_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "kvplan" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    except (OSError, AttributeError):
        pass
    return Path(tempfile.mkdtemp(prefix="kvplan-"))


os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))

import numba  # noqa: E402  (the cache folder must be set before numba reads its configuration)
import numpy as np  # noqa: E402
from numba.extending import register_jitable  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from kvplan.core.decode import decode_step  # noqa: E402
from kvplan.core.placement import place  # noqa: E402
from kvplan.core.shapes import Plan  # noqa: E402
from kvplan.core.verdicts import loads, outcome  # noqa: E402

for _function in core_functions():
    register_jitable(_function)


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A core function as compiled code, for tests that compare both speeds."""
    return cast("Callable[..., Any]", numba.njit(function))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _judge_grid(low, best, high, margin_fraction, contexts, users, outcomes, itl_s):  # type: ignore[no-untyped-def]
    for row in range(contexts.shape[0]):
        for column in range(users.shape[0]):
            context = contexts[row]
            count = users[column]
            outcomes[row, column] = outcome(
                loads(low, context, count), loads(best, context, count), loads(high, context, count), margin_fraction
            )
            itl_s[row, column] = decode_step(best, place(best, context, count), context, count).itl_s


def judge_grid(
    ends: tuple[Plan, Plan, Plan], margin_fraction: float, contexts: NDArray[np.float64], users: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Outcome codes and best-estimate ITL (s) of one strategy, both of shape (contexts, users)."""
    outcomes = np.empty((contexts.shape[0], users.shape[0]), dtype=np.int64)
    itl_s = np.empty((contexts.shape[0], users.shape[0]), dtype=np.float64)
    _judge_grid(*ends, margin_fraction, contexts, users, outcomes, itl_s)
    return outcomes, itl_s
