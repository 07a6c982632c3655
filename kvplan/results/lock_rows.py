"""Names that deployments use for models -> rows of a lock file, and what no row can be made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kvplan.catalog.lock_file import LockFile
from kvplan.catalog.locked_rows import Locked, Read, locked, name_of_path, read_here, read_on_hub
from kvplan.errors import KvplanError
from kvplan.rules.named_models import NamedModel
from kvplan.units import shorten


@dataclass(slots=True)
class Use:
    """One name with all places that use it, in any case of its letters."""

    first: NamedModel
    texts: dict[str, None] = field(default_factory=dict)
    places: dict[str, None] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    """Real path -> path as it was found."""


class Unlocked(NamedTuple):
    """A name that no row could be made of, and why."""

    text: str
    question: str
    remedy: str | None
    places: tuple[str, ...]


class Entry(NamedTuple):
    """A row of the lock with what became of it."""

    locked: Locked
    status: str
    """``new``, ``changed``, ``same``; ``kept`` where it was not read again."""
    places: tuple[str, ...]


@dataclass(slots=True)
class _Origin:
    """What one row is made of, and the names that mean it."""

    name: str
    read: Read | None
    """None: the row as it was."""
    uses: list[Use] = field(default_factory=list)


class Reading(NamedTuple):
    """How models are read."""

    before: LockFile
    folder: str
    """Of the lock file: where paths in it begin."""
    fetch: bool
    upgrade: bool


def rows_of(uses: Iterable[Use], reading: Reading) -> tuple[list[Entry], list[Unlocked]]:
    """A row for each model, and the names that are left."""
    origins: dict[str, _Origin] = {}
    left: list[Unlocked] = []
    for use in uses:
        try:
            key, origin = _origin(use, reading, origins)
        except _Left as error:
            left.append(Unlocked(use.first.text, error.question, error.remedy, tuple(use.places)))
            old = reading.before.find(use.first.text)
            if old is None:
                continue
            key, origin = f"before:{old.name}", _Origin(old.name, None)
        origins.setdefault(key, origin).uses.append(use)
    return _entries(origins, reading), left


class _Left(Exception):
    """Nothing could be read."""

    def __init__(self, question: str, remedy: str | None) -> None:
        super().__init__(question)
        self.question, self.remedy = question, remedy


def _origin(use: Use, reading: Reading, known: dict[str, _Origin]) -> tuple[str, _Origin]:
    """(what makes it the same one, what the row is made of). Each file and each hub id is read once."""
    if use.paths:
        return _here(use, reading, known)
    named = use.first
    old = reading.before.find(named.text) or reading.before.find(named.hub)
    if old is not None and not (reading.upgrade and named.hub):
        return f"before:{old.name}", _Origin(old.name, None)
    if named.hub is None or not reading.fetch:
        raise _Left(named.question, named.remedy)
    key = f"hub:{named.hub.lower()}"
    if key in known:
        return key, known[key]
    read = _asked(lambda: read_on_hub(named.hub or ""))
    return key, _Origin(named.hub.replace("@", ":"), read)


def _here(use: Use, reading: Reading, known: dict[str, _Origin]) -> tuple[str, _Origin]:
    """A checkpoint on this machine. The same name in several folders must mean the same model."""
    (real, path), *others = sorted(use.paths.items())
    key = f"file:{real}"
    shown = _shown(real, path, reading.folder)
    read = (known[key].read if key in known else None) or _asked(lambda: read_here(path, shown))
    for _, other in others:
        if not _same(read, _asked(lambda other=other: read_here(other, shown))):  # type: ignore[misc]
            names = " and ".join(_shown(*item, reading.folder) for item in sorted(use.paths.items())[:2])
            remedy = "name them differently, or by their paths from the repository's root"
            raise _Left(f"means different models in different folders: {names}", remedy)
    return key, known.get(key) or _Origin(name_of_path(use.first.text), read)


def _asked(read: Callable[[], Read]) -> Read:
    try:
        return read()
    except KvplanError as error:
        raise _Left(str(error), error.help) from None


def _same(first: Read, second: Read) -> bool:
    models = [read.model._replace(name="", source="") for read in (first, second)]
    return models[0] == models[1]


def _shown(real: str, path: str, folder: str) -> str:
    """A path from the lock file on; one outside of its folder as it was named."""
    top = os.path.realpath(folder or ".")
    inside = real.startswith(top.rstrip(os.sep) + os.sep)
    return shorten((os.path.relpath(real, top) if inside else path).replace(os.sep, "/"), 200)


def _entries(origins: dict[str, _Origin], reading: Reading) -> list[Entry]:
    taken = {origin.name.lower() for origin in origins.values() if origin.read is None}
    found = []
    for origin in sorted(origins.values(), key=lambda item: (item.name, min(use.first.text for use in item.uses))):
        name = origin.name if origin.read is None else _free(origin.name, taken)
        texts = {text for use in origin.uses for text in use.texts if text.lower() != name.lower()}
        aliases = sorted({text.lower(): text for text in sorted(texts, reverse=True)}.values())
        places = tuple(dict.fromkeys(place for use in origin.uses for place in use.places))
        found.append(_entry(name, aliases, origin.read, places, reading.before))
    return found


def _entry(name: str, aliases: list[str], read: Read | None, places: tuple[str, ...], before: LockFile) -> Entry:
    old = next((row for row in before.rows if row.name == name), None)
    if read is None and old is not None:
        row = old.named_by(aliases)
        return Entry(row, "kept" if row.row == old.row else "changed", places)
    assert read is not None, "only a row that there was is made of nothing"
    made = locked(name, aliases, read)
    if old is None:
        return Entry(made, "new", places)
    return Entry(made, "same" if made.row == old.row else "changed", places)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where another row has it."""
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found.lower())
    return found
