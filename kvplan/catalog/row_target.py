"""The catalog that an imported row goes to, among all that a command reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kvplan.catalog.appending import OpenCatalog, opened
from kvplan.catalog.files import (
    CatalogFile,
    Table,
    config_folder,
    config_paths,
    file_of,
    listed_paths,
    read_file,
    shipped_file,
)  # fmt: skip
from kvplan.catalog.row_names import refuse_taken
from kvplan.errors import CatalogError, InputError
from kvplan.units import shorten


class Added(NamedTuple):
    """A row that now stands in a catalog."""

    kind: str
    """``model`` or ``host``."""
    name: str
    aliases: tuple[str, ...]
    file: str
    always_read: bool
    """Every command reads the file; otherwise it is given with ``--catalog``."""
    replaced: str | None
    """The file of the row that the name meant before; None where it meant none."""
    lost_aliases: tuple[str, ...]
    """Names of the replaced row that mean nothing any more."""


class RowTarget:
    """An open catalog file, with the shipped and the user's own ones around it."""

    def __init__(self, kind: str, shipped_name: str, path: str, file: OpenCatalog) -> None:
        self.kind, self._section = kind, f"{kind}s"
        self._file = file
        self._order = [*_config_paths_with(path), *listed_paths()]
        self.always_read = any(self._is_target(other) for other in self._order)
        if not self.always_read:
            self._order.append(path)
        self._others = {other: read_file(other) for other in self._order if not self._is_target(other)}
        self._shipped = shipped_file(shipped_name)
        self.files = self._with(file.data)
        self.before = Table(self._section, self.files)

    def add(self, name: str, aliases: Sequence[str], text: str, row: Mapping[str, Any], *, replace: bool) -> Added:
        """Write the row, after everything that speaks against it was looked for."""
        refuse_taken(self.before, name, aliases, self.kind, replace=replace)
        data = self._file.with_row(self._section, name, text, row)
        after = Table(self._section, self._with(data))
        self._check_reached(after, name, aliases)
        old, replaced, lost = self.before.find(name), None, ()
        if old is not None:
            old_row, old_file = self.before.row(old)
            replaced = old_file.path
            gone = [alias for alias in old_row.get("aliases", ()) if after.find(alias) is None]
            lost = tuple(dict.fromkeys(gone)) if old == name else ()
        self._file.replace(data)
        return Added(self.kind, name, tuple(aliases), self._file.where, self.always_read, replaced, lost)

    def _check_reached(self, after: Table, name: str, aliases: Sequence[str]) -> None:
        """A file that is read later may have a row of the same name, which would go before the new one."""
        for word in (name, *aliases):
            found = after.find(word)
            file = after.row(found)[1] if found is not None else None
            if found != name or file is None or file.path != self._file.where:
                there = f"{file.path} [{self._section}.{shorten(found or '')}]" if file is not None else "another row"
                raise CatalogError(
                    f"{word!r} would still mean {there}, which is read after it", where=self._file.where,
                    help="change that row, or write to that file with --catalog FILE",
                )  # fmt: skip

    def _with(self, data: bytes) -> list[CatalogFile]:
        """All files in the order in which a command reads them, the target with these bytes."""
        target = file_of(self._file.where, data)
        return [self._shipped, *(self._others.get(path, target) for path in self._order)]

    def _is_target(self, path: str) -> bool:
        return os.path.realpath(path) == self._file.path


def _config_paths_with(path: str) -> list[str]:
    """The files of the config folder, with one that is about to be made there."""
    folder, name = os.path.split(os.path.abspath(path))
    listed = config_paths()
    if os.path.realpath(folder) != os.path.realpath(config_folder()) or name.startswith(".") or name[-5:] != ".toml":
        return listed
    return sorted({*listed, os.path.join(config_folder(), name)})


@contextmanager
def row_target(kind: str, shipped_name: str, catalog: str | None) -> Iterator[RowTarget]:
    """The file at ``catalog``, or the one of the same name as the shipped one in the user's config folder."""
    if catalog is not None and not catalog.strip():
        raise InputError("--catalog must name a file to write to", help="without it the one in your config folder")
    path = catalog or os.path.join(config_folder(), shipped_name)
    with opened(path, make_folder=catalog is None) as file:
        yield RowTarget(kind, shipped_name, path, file)
