"""The commands as Python functions: keyword arguments have the names of the flags, with underscores.

What a flag takes as text may be given as a number (``context=131072`` or ``"128k"``), what repeats as a list
(``strategy=["hbm", "kv-fp8"]``). Slips raise the same errors as on the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from kvplan.deployments.words import Words
from kvplan.errors import InputError, did_you_mean
from kvplan.results import fit as fits
from kvplan.units import shorten

if TYPE_CHECKING:
    from kvplan.results.check import CheckResult, Gate
    from kvplan.results.diff import DiffResult
    from kvplan.results.kv import KvResult
    from kvplan.results.lock import LockResult
    from kvplan.results.sweep import SweepResult

Name = str | os.PathLike[str]
"""A catalog name, or a path."""

_LISTS = {"catalog": "catalog", "strategy": "strategies"}
"""Keyword -> field of Words, for what may be one or several."""


@overload
def fit(
    *, model: Name, host: Name, sensitivity: bool = False, seed: int | None = None, **words: Any
) -> fits.FitResult: ...
@overload
def fit(
    *, model: Name, host: Sequence[Name], sensitivity: bool = False, seed: int | None = None, **words: Any
) -> fits.FitMatrix: ...
def fit(
    *, model: Name, host: Name | Sequence[Name], sensitivity: bool = False, seed: int | None = None, **words: Any
) -> fits.FitResult | fits.FitMatrix:
    """Which KV strategy fits this model on this host for this workload; several hosts give a matrix.

    ``sensitivity`` says as well what turns the verdict and where it holds; ``seed`` draws other points for it.
    """
    draws = None if not sensitivity and seed is None else _seed(sensitivity, seed)
    if isinstance(host, (str, os.PathLike)):
        return fits.fit(words_from(model=model, host=host, **words), draws)
    if not host:
        raise InputError("no host was named", help="host='rtx4090', or a list of hosts")
    return fits.fit_hosts([words_from(model=model, host=one, **words) for one in host], draws)


def _seed(sensitivity: bool, seed: int | None) -> int:
    """The seed of the draws. InputError for one of nothing."""
    if _converted("sensitivity", "bool", sensitivity) is not True:
        raise InputError("seed goes with sensitivity=True")
    from kvplan.assess.sensitivity import DEFAULT_SEED

    return DEFAULT_SEED if seed is None else int(_converted("seed", "int", seed))


def kv(*, model: Name, pool_gib: float | None = None, pool_bytes: int | None = None, **words: Any) -> KvResult:
    """What the model's KV cache is made of, and what a pool holds."""
    from kvplan.results.kv import kv as answer

    if pool_gib is not None:
        pool_gib = _converted("pool_gib", "float", pool_gib)
    if pool_bytes is not None:
        pool_bytes = _converted("pool_bytes", "int", pool_bytes)
    return answer(words_from(model=model, **words), pool_gib=pool_gib, pool_bytes=pool_bytes)


def check(
    *paths: Name | Sequence[Name],
    host: Name | None = None,
    catalog: Name | Sequence[Name] = (),
    baseline: Name | None = None,
    update_baseline: bool = False,
    **gate: Any,
) -> CheckResult:
    """Do the deployment files at these paths stay inside their host's budgets?

    ``fail_on``, ``exit_zero`` and ``allow_empty`` turn ``exit_code``, as they do on the command line.
    """
    from kvplan.results.check import check as answer

    listed = [path for given in paths for path in _names("path", given)]
    if not listed:
        raise InputError("no path was named", help="kvplan.check('deploy/')")
    return answer(
        listed,
        host=None if host is None else _text("host", host),
        catalog=_names("catalog", catalog),
        gate=_gate(baseline=baseline, update_baseline=update_baseline, **gate),
    )


def diff(
    base: Name,
    head: Name,
    *paths: Name | Sequence[Name],
    host: Name | None = None,
    catalog: Name | Sequence[Name] = (),
    baseline: Name | None = None,
    **gate: Any,
) -> DiffResult:
    """What changes for the deployments at these paths between two git revisions, or two folders."""
    from kvplan.results.diff import diff as answer

    listed = [path for given in paths for path in _names("path", given)]
    return answer(
        (_text("base", base), _text("head", head)),
        listed or ["."],
        host=None if host is None else _text("host", host),
        catalog=_names("catalog", catalog),
        gate=_gate(baseline=baseline, **gate),
    )


def lock(
    *paths: Name | Sequence[Name],
    output: Name | None = None,
    catalog: Name | Sequence[Name] = (),
    fetch: bool = False,
    upgrade: bool = False,
    check: bool = False,
) -> LockResult:
    """Write down the models that the deployment files at these paths name, for ``check`` to read offline.

    ``fetch`` asks the Hub, ``upgrade`` also for what is locked already; ``check`` writes nothing.
    """
    from kvplan.results.lock import LockWords
    from kvplan.results.lock import lock as answer

    listed = [path for given in paths for path in _names("path", given)]
    if not listed:
        raise InputError("no path was named", help="kvplan.lock('deploy/')")
    file = None if output is None else _text("output", output)
    words = LockWords(file, _names("catalog", catalog), bool(fetch), bool(upgrade), bool(check))
    return answer(listed, words)


def _gate(
    *, baseline: Name | None, update_baseline: bool = False, fail_on: str | None = None, exit_zero: bool = False,
    allow_empty: bool = False,
) -> Gate:  # fmt: skip
    """What makes ``exit_code``. InputError for a level that is none."""
    from kvplan.results.check import FAIL_ON, Gate

    if fail_on is not None and fail_on not in FAIL_ON:
        raise InputError(f"fail_on {shorten(repr(fail_on))} is not known", help="known: " + ", ".join(FAIL_ON))
    if update_baseline and baseline is None:
        raise InputError("update_baseline needs baseline, the file to write")
    file = None if baseline is None else _text("baseline", baseline)
    return Gate(fail_on, bool(exit_zero), bool(allow_empty), file, bool(update_baseline))


def sweep(
    *, model: Name, host: Name, context: str | int | None = None, users: str | int | None = None,
    notify: Callable[[str], None] | None = None, **words: Any,
) -> SweepResult:  # fmt: skip
    """Which strategy wins at every context and number of users: ranges such as ``"4k:128k"`` and ``"1:64"``."""
    from kvplan.results.sweep import sweep as answer

    ranges = [None if value is None else str(value) for value in (context, users)]
    return answer(words_from(model=model, host=host, **words), ranges[0], ranges[1], notify)


def words_from(**given: Any) -> Words:
    """Keyword arguments as Words. InputError for a keyword that is none, and for a value of the wrong type."""
    fields = {name: str(getattr(kind, "__forward_arg__", kind)) for name, kind in Words.__annotations__.items()}
    known = [name for name in fields if name != "strategies"] + ["strategy"]
    filled: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            guesses = did_you_mean(name, known)
            advice = f"did you mean {' or '.join(guesses)}?" if guesses else None
            raise InputError(f"no keyword argument named {shorten(name)!r}", help=advice)
        if name in _LISTS:
            filled[_LISTS[name]] = _names(name, value)
        elif value is not None:
            filled[name] = _converted(name, fields[name], value)
    return Words(**filled)


def _names(name: str, value: Any) -> tuple[str, ...]:
    """One name or several."""
    several = value if isinstance(value, (list, tuple)) else () if value is None else (value,)
    return tuple(_text(name, item) for item in several)


def _converted(name: str, kinds: str, value: Any) -> Any:
    """The value as the field's type. A flag that takes text takes a number too, a whole number is no switch."""
    if isinstance(value, bool):
        if "bool" in kinds:
            return value
    elif "str" in kinds and isinstance(value, (str, os.PathLike)):
        return _text(name, value)
    elif "int" in kinds or "float" in kinds:
        number = _number(value, whole="float" not in kinds)
        if number is not None:
            return number
    words = {"bool": "True or False", "int": "a whole number", "float": "a number", "str": "text"}
    wanted = next(word for kind, word in words.items() if kind in kinds)
    raise InputError(f"{name} must be {wanted} (it is {shorten(repr(value))})")


def _number(value: Any, *, whole: bool) -> int | float | None:
    """A number of any library as Python's own; None where it is none."""
    try:
        if whole:
            return int(value.__index__())
        return None if isinstance(value, str) else float(value)
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def _text(name: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} must be text (it is {shorten(repr(value))})")
    return str(os.fspath(value))
