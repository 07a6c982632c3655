"""KV403: a flag that this version of the engine does not have: it was removed before, or came later.

Engines refuse to start with an argument that they do not know. Where the version is not known, a flag that the newest
one lacks is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kvplan.deployments.commands.flag_history import FlagChange, history
from kvplan.engines.versions import release
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV403"
TITLE = "a flag is not in this version of the engine"
LEVEL = "fail"


class _Gone(NamedTuple):
    message: str
    change: FlagChange


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    changes, version = _by_flag(found.engine), _version(context)
    for flag, place in found.flags.items():
        gone = _gone(changes.get(flag, ()), version, found.engine)
        if gone is None:
            continue
        change = gone.change
        figures = {"flag": flag, "added": change.added, "removed": change.removed, "source": change.source}
        yield Finding(
            ID, LEVEL if version is not None else "warn", found.name, str(place), f"--{flag} {gone.message}",
            figures=figures, formula="added <= version < removed", remedy=_remedy(flag, change, version),
        )  # fmt: skip


@cache
def _by_flag(engine: str) -> dict[str, tuple[FlagChange, ...]]:
    found: dict[str, list[FlagChange]] = {}
    for change in history(engine):
        found.setdefault(change.flag, []).append(change)
    return {flag: tuple(changes) for flag, changes in found.items()}


def _version(context: Context) -> tuple[int, ...] | None:
    """The version that the file names, whether or not it is modelled."""
    named = str(context.translated.values.get("engine", "")).partition("@")[2]
    try:
        return release(named) if named else None
    except InputError:
        return None


def _gone(lives: tuple[FlagChange, ...], version: tuple[int, ...] | None, engine: str) -> _Gone | None:
    """What is wrong with a flag that has had these lives; None where one of them has the version in it."""
    if not lives:
        return None
    if version is None:
        last = lives[-1]
        if any(life.removed is None for life in lives):
            return None
        effect = f" ({last.effect})" if last.effect else ""
        return _Gone(f"was removed in {engine} {last.removed}, so newer versions refuse it{effect}", last)
    if any(_holds(life, version) for life in lives):
        return None
    shown = ".".join(map(str, version))
    for life in reversed(lives):
        if life.removed is not None and _padded(release(life.removed)) <= _padded(version):
            effect = f" ({life.effect})" if life.effect else ""
            return _Gone(f"was removed in {engine} {life.removed}, and the file names {shown}{effect}", life)
    first = lives[0]
    return _Gone(f"came with {engine} {first.added}, and the file names {shown}", first)


def _holds(life: FlagChange, version: tuple[int, ...]) -> bool:
    """Whether a version lies in a flag's life. ``0.18`` is 0.18.0."""
    after = life.added is None or _padded(release(life.added)) <= _padded(version)
    return after and (life.removed is None or _padded(version) < _padded(release(life.removed)))


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0, 0)[:4]


def _remedy(flag: str, change: FlagChange, version: tuple[int, ...] | None) -> str:
    if version is not None and change.added is not None and _padded(version) < _padded(release(change.added)):
        return f"leave --{flag} out, or take version {change.added}"
    return f"leave --{flag} out"
