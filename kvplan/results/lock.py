"""``kvplan lock``: the models that deployment files name, written down so that ``check`` finds them offline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kvplan import __version__
from kvplan.catalog.files import Table, config_paths, listed_paths, read_file, shipped_file
from kvplan.catalog.lock_file import LockFile, lock_text, read_lock, write_lock
from kvplan.catalog.models import SECTION, SHIPPED, model_table
from kvplan.deployments.interface import Unreadable
from kvplan.deployments.project_config import ProjectConfig, load_config
from kvplan.deployments.sources import read_deployments
from kvplan.deployments.upward import LOCK_NAME, lock_files, way_up
from kvplan.errors import InputError
from kvplan.results.json_shapes import Json, model_json, whole
from kvplan.results.kv import kv_of
from kvplan.results.lock_rows import Entry, Reading, Unlocked, Use, rows_of
from kvplan.results.places import Root
from kvplan.rules.named_models import NamedModel, models_named
from kvplan.rules.which_host import Around

SCHEMA = "kvplan.lock/1"


@dataclass(frozen=True, slots=True)
class LockWords:
    """What was typed."""

    output: str | None = None
    """The lock file; None for the one that there is, else at the project's root."""
    catalog: tuple[str, ...] = ()
    fetch: bool = False
    upgrade: bool = False
    """Read models of the Hub again that are locked already."""
    check: bool = False
    """Write nothing."""


class Known(NamedTuple):
    """A name that a catalog has."""

    text: str
    name: str
    catalog: str
    only_here: bool
    """The catalog is the user's own: another machine does not read it."""
    places: tuple[str, ...]


class Dropped(NamedTuple):
    """A row that was in the lock."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LockResult:
    """The answer of one ``lock``."""

    file: str
    deployments: int
    entries: tuple[Entry, ...]
    known: tuple[Known, ...]
    dropped: tuple[Dropped, ...]
    unlocked: tuple[Unlocked, ...]
    unreadable: tuple[Unreadable, ...]
    """Files that may name models and could not be read."""
    words: LockWords
    stale: bool
    """The file did not say what it should."""
    root: Root = field(default_factory=Root)

    @property
    def written(self) -> bool:
        """Whether the file was changed."""
        return self.stale and not self.words.check and bool(self.deployments)

    @property
    def exit_code(self) -> int:
        """3 where no deployment was recognised; 1 where a model is missing, or a checked lock is stale; else 0."""
        if not self.deployments:
            return 3
        return 1 if self.unlocked or (self.words.check and self.stale) else 0

    def count(self, status: str) -> int:
        """Rows of this status."""
        return sum(item.status == status for item in self.entries)

    def to_json(self) -> Json:
        """The envelope ``kvplan.lock/1``."""
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "file": self.file,
            "deployments": self.deployments,
            "written": self.written,
            "stale": self.stale,
            "locked": [_entry_json(item) for item in self.entries],
            "known": [{**item._asdict(), "places": list(item.places)} for item in self.known],
            "dropped": [item._asdict() for item in self.dropped],
            "unlocked": [{**item._asdict(), "places": list(item.places)} for item in self.unlocked],
            "unreadable": [{"where": self.root.place(str(x.place)), "message": x.message} for x in self.unreadable],
        }


def lock(paths: Sequence[str], words: LockWords | None = None) -> LockResult:
    """Lock the models that these files and folders name. InputError for a path, a catalog or a lock that is none."""
    words = words or LockWords()
    if words.upgrade and not words.fetch:
        raise InputError("--upgrade reads models of the Hub again, so it needs --fetch")
    project = load_config(paths)
    file = words.output if words.output is not None else _file_of(paths, project)
    before = read_lock(file)
    looking = _Looking(project, _without_locks((*project.catalog, *words.catalog), file, paths), before)
    deployments, known, uses, unreadable = looking.named(paths)
    folder = os.path.dirname(file)
    entries, unlocked = rows_of(uses, Reading(before, folder, words.fetch, words.upgrade))
    orphans = [row.name for row in before.rows if row.name not in {item.locked.name for item in entries}]
    if orphans and deployments:
        entries += looking.elsewhere(folder or ".", {use.first.text.lower() for use in uses}, orphans)
    dropped = tuple(looking.dropped(entries)) if deployments else ()
    rows = [item.locked for item in entries]
    stale = {row.name: row.row for row in rows} != {row.name: row.row for row in before.rows}
    text = lock_text(rows)
    if deployments and not words.check and (before.text != text if rows else stale):
        write_lock(file, text)
    return LockResult(
        file, deployments, tuple(sorted(entries, key=lambda item: item.locked.name)), known, dropped, tuple(unlocked),
        tuple(unreadable), words, stale,
    )  # fmt: skip


class _Looking:
    """The catalogs and the project that names are looked up with."""

    def __init__(self, project: ProjectConfig, catalog: tuple[str, ...], before: LockFile) -> None:
        self._project, self._catalog, self._before = project, catalog, before
        self._shared = Table(SECTION, [shipped_file(SHIPPED), *map(read_file, catalog)])
        """What every machine with this repository has."""
        self._own = {*config_paths(), *listed_paths()}
        self._root = Root()

    def named(self, paths: Sequence[str]) -> tuple[int, tuple[Known, ...], list[Use], list[Unreadable]]:
        """(deployments, names that catalogs have, names to lock, files that could not be read)."""
        found, unreadable = read_deployments(paths)
        known: dict[str, Known] = {}
        uses: dict[tuple[str, str], Use] = {}
        for item, source in found:
            around = Around(facts=self._project.facts_for(source.path), catalog=self._catalog, folder=source.folder)
            for named in models_named(item, around):
                place = self._root.place(str(named.place))
                if named.row is not None and not self._is_kept(named):
                    known[named.text] = self._known(named, known.get(named.text), place)
                    continue
                key = (named.text.lower(), "" if named.text else place + named.question)
                use = uses.setdefault(key, Use(named))
                use.texts |= {named.text: None} if named.text else {}
                use.places[place] = None
                use.paths |= {os.path.realpath(named.path): named.path} if named.path is not None else {}
        return len(found), tuple(known[text] for text in sorted(known)), list(uses.values()), unreadable

    def _is_kept(self, named: NamedModel) -> bool:
        """A model that only this user's own catalog has stays locked, for the others."""
        return self._before.find(named.text) is not None and self._shared.find(named.row or "") is None

    def _known(self, named: NamedModel, before: Known | None, place: str) -> Known:
        row = named.row or ""
        _, file = model_table(self._catalog).row(row)
        places = tuple(dict.fromkeys((*(before.places if before else ()), place)))
        return Known(named.text, row, file.path, file.path in self._own, places)

    def elsewhere(self, folder: str, seen: set[str], orphans: Iterable[str]) -> list[Entry]:
        """Rows that no given path needs, but another file of the lock's folder."""
        wanted = set(orphans)
        kept: dict[str, Entry] = {}
        for use in self.named([folder])[2]:
            row = self._before.find(use.first.text) or self._before.find(use.first.hub)
            if row is not None and row.name in wanted and use.first.text.lower() not in seen:
                others = kept[row.name].places if row.name in kept else ()
                kept[row.name] = Entry(row, "kept", (*others, *use.places))
        return list(kept.values())

    def dropped(self, entries: Iterable[Entry]) -> Iterator[Dropped]:
        """What the lock had and has no more."""
        left = {item.locked.name for item in entries}
        for row in self._before.rows:
            if row.name in left:
                continue
            catalog = next((text for text in row.texts if self._shared.find(text) is not None), None)
            yield Dropped(row.name, "a catalog has it" if catalog else "no deployment names it any more")


def _file_of(paths: Sequence[str], project: ProjectConfig) -> str:
    """The lock file that there is; else beside the configuration; else at the root of the repository."""
    found = lock_files(paths)
    if len(found) > 1:
        raise InputError(
            f"the paths have different lock files: {found[0]} and {found[1]}",
            help="lock them one by one, or name one with --output",
        )
    if found:
        return found[0]
    if project.path:
        return os.path.join(project.folder, LOCK_NAME)
    way = way_up(paths[0])
    return way.shown(os.path.join(way.last, LOCK_NAME))


def _without_locks(catalog: Iterable[str], file: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The catalogs that are not the lock itself."""
    locks = {os.path.realpath(path) for path in (file, *lock_files(paths))}
    return tuple(path for path in catalog if os.path.realpath(path) not in locks)


def _entry_json(item: Entry) -> Json:
    row, model = item.locked.row, item.locked.model
    return {
        "name": item.locked.name,
        "aliases": list(row.get("aliases", ())),
        "status": item.status,
        "hub_id": row.get("hub_id"),
        "form": "config" if "config" in row else "layout",
        "model": model_json(model),
        "kv_bytes_per_token": whole(kv_of(model).kv_bytes_per_token),
        "warnings": list(model.warnings),
        "places": list(item.places),
    }
