"""A lock file: a catalog of models that kvplan writes whole, sorted, the same bytes for the same models."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from kvplan.catalog.appending import opened
from kvplan.catalog.files import file_of, parse, read_whole
from kvplan.catalog.locked_rows import Locked, locked_before
from kvplan.errors import CatalogError, InputError
from kvplan.units import shorten

_FIRST_LINE: Final = "# Written by kvplan lock: commit it, don't edit it."
_HEADER: Final = (
    f"{_FIRST_LINE} Models that deployment files name and no other catalog has,\n"
    "# as far as memory and speed depend on them. kvplan check and kvplan diff read it by themselves, offline.\n"
)
_ANEW: Final = "restore it, or delete it and run kvplan lock --fetch"


class LockFile(NamedTuple):
    """One as it is on the disk; without rows where there is none."""

    path: str
    found: bool
    text: str
    rows: tuple[Locked, ...]

    def find(self, text: str | None) -> Locked | None:
        """The row that a name means, in any case; names go before aliases, as in every catalog."""
        if not text:
            return None
        lowered = text.lower()
        named = (row for row in self.rows if row.name.lower() == lowered)
        known = (row for row in self.rows if lowered in (word.lower() for word in row.texts))
        return next(named, None) or next(known, None)


def read_lock(path: str) -> LockFile:
    """The file of this path. InputError where it is something else than a lock file: it would be overwritten."""
    if not os.path.lexists(path):
        return LockFile(path, False, "", ())
    where = shorten(path, 200)
    file = file_of(path, read_whole(path))
    text = file.text.replace("\r\n", "\n")
    if text.strip() and not text.startswith(_FIRST_LINE):
        raise InputError("is not a lock file of kvplan", where=where, help="--output names another file")
    try:
        rows = parse(file).get("models", {})
        return LockFile(path, True, text, tuple(locked_before(name, row, where) for name, row in rows.items()))
    except CatalogError as error:
        raise CatalogError(error.message, where=error.where, help=_ANEW) from None
    except (AttributeError, TypeError, ValueError):
        raise CatalogError("holds something else than models", where=where, help=_ANEW) from None


def lock_text(rows: Iterable[Locked]) -> str:
    """The whole file, in the order of the names."""
    return _HEADER + "".join(f"\n{row.text()}" for row in sorted(rows, key=lambda row: row.name))


def write_lock(path: str, text: str) -> None:
    """Put the file in its place, in one step."""
    with opened(path, make_folder=False) as file:
        file.replace(text.encode("utf-8"))
