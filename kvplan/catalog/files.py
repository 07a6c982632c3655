"""Catalog files: which there are, in what order they lie over each other, and how one row is cut out of them.

Shipped files have a fixed form, so that a start pays for one row instead of for all: a row begins with a line
``[section.name]`` at column 0, its sub-tables ``[section.name.part]`` follow it, and its aliases stand on one line
``aliases = ["a", "b"]``. Files of users are any TOML and are parsed whole.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from kvplan.catalog.toml_text import too_long
from kvplan.errors import CatalogError, did_you_mean
from kvplan.units import MIB, shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS: Final = ("models", "hosts", "gpus", "calibrations")
LARGEST_FILE_BYTES: Final = 16 * MIB

_ROW_OR_ALIASES = re.compile(r'\n(?:\[(\w+)\.(?:"([^"\n]+)"|([\w-]+))\]|aliases = \[([^\]\n]*)\])')
_QUOTED = re.compile(r'"([^"]*)"')
_LINE_OF_ERROR = re.compile(r"\s*\(at line (\d+), column \d+\)")


class CatalogFile(NamedTuple):
    """One TOML file, read but not parsed."""

    path: str
    """As shown to people: ``hardware.toml`` for a shipped one, the path as given for others."""
    text: str
    shipped: bool


class _Place(NamedTuple):
    """Where a row stands; ``start`` is its offset in a shipped file's text, None in a file that is parsed whole."""

    file: CatalogFile
    start: int | None
    aliases: tuple[str, ...]


class Table:
    """One section (``models``, ``hosts``, ``gpus``) over all files; a later row replaces an earlier one whole."""

    def __init__(self, section: str, files: Sequence[CatalogFile]) -> None:
        self._section = section
        self._places: dict[str, _Place] = {}
        for file in files:
            scan = _scan_shipped if file.shipped else _scan_parsed
            self._places.update(scan(file, section))
        self._by_lower = {name.lower(): name for name in self._places}

    def names(self) -> list[str]:
        """Canonical names in file order."""
        return list(self._places)

    def aliases(self) -> dict[str, str]:
        """Alias (lower-cased) -> canonical name. A later file's alias wins."""
        return {alias.lower(): name for name, place in self._places.items() for alias in place.aliases}

    def find(self, name: str) -> str | None:
        """The canonical name for a name or an alias in any case; names go before aliases."""
        if name in self._places:
            return name
        return self._by_lower.get(name.lower()) or self.aliases().get(name.lower())

    def row(self, name: str) -> tuple[dict[str, Any], CatalogFile]:
        """The parsed table of one canonical name, and the file that it stands in."""
        place = self._places[name]
        if place.start is None:
            return dict(parse(place.file)[self._section][name]), place.file
        return tomllib.loads(_cut_row(place.file.text, place.start))[self._section][name], place.file

    def figures(self, name: str, keys: tuple[str, ...]) -> dict[str, Any]:
        """Some keys of one row, without parsing the rest of it where its file is a shipped one."""
        place = self._places[name]
        if place.start is None:
            row = parse(place.file)[self._section][name]
            return {key: row[key] for key in keys if key in row}
        lines = _cut_row(place.file.text, place.start).splitlines()
        return tomllib.loads("\n".join(line for line in lines if line.partition(" = ")[0] in keys))


def catalog_files(shipped_name: str, extra: Sequence[str] = ()) -> tuple[CatalogFile, ...]:
    """In this order: shipped, the user's config folder, ``$KVPLAN_CATALOG``, ``extra`` (``--catalog``)."""
    return (shipped_file(shipped_name), *map(read_file, [*config_paths(), *listed_paths(), *extra]))


def digest(files: Sequence[CatalogFile]) -> str:
    """A short fingerprint of what the files say: ``crc32:`` and 8 hex digits. It tells versions apart, nothing more.

    A checksum of the standard library that costs nothing to load; hashlib would be a twentieth of a whole answer.
    """
    from zlib import crc32

    whole = "\0".join(file.text for file in files)
    return f"crc32:{crc32(whole.encode('utf-8', 'surrogatepass')):08x}"


def read_file(path: str) -> CatalogFile:
    """A user's file as text, or one clear line why it can't be read."""
    return file_of(path, read_whole(path))


def file_of(path: str, data: bytes) -> CatalogFile:
    """A user's file with these bytes."""
    where = shorten(path, 200)
    try:
        return CatalogFile(path=where, text=data.decode("utf-8-sig"), shipped=False)
    except UnicodeDecodeError:
        raise CatalogError("is not a text file in UTF-8", where=where) from None


def read_whole(path: str) -> bytes:
    """A user's file as it is, or one clear line why it can't be read."""
    where = shorten(path, 200)
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise CatalogError("is a folder, not a TOML file", where=where)
        if not stat.S_ISREG(status.st_mode):
            raise CatalogError("is not a regular file", where=where)
        with open(path, "rb") as stream:
            data = stream.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CatalogError(f"can't be read: {reason}", where=where) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise CatalogError("is larger than 16 MiB, too large for a catalog", where=where)
    return data


@lru_cache(maxsize=64)
def parse(file: CatalogFile) -> dict[str, Any]:
    """The whole file as TOML. The answer is shared: don't change it."""
    refused = too_long(file.text)
    if refused is not None:
        raise CatalogError(refused[1], where=f"{file.path}:{refused[0]}")
    try:
        return tomllib.loads(file.text)
    except RecursionError:
        raise CatalogError("is nested too deeply", where=file.path) from None
    except ValueError as error:
        message = shorten(str(error), 160)
        line = _LINE_OF_ERROR.search(message)
        where = f"{file.path}:{line[1]}" if line else file.path
        raise CatalogError(f"is not valid TOML: {_LINE_OF_ERROR.sub('', message)}", where=where) from None


@lru_cache(maxsize=4)
def shipped_file(name: str) -> CatalogFile:
    """A catalog that comes with kvplan: in ``kvplan/data`` of an installed wheel, at the top of a checkout.

    Read once: it does not change while a process runs.
    """
    package = Path(__file__).parent.parent
    for path in (package / "data" / name, package.parent / name):
        try:
            return CatalogFile(path=name, text=path.read_text(encoding="utf-8"), shipped=True)
        except FileNotFoundError:
            continue
    raise CatalogError("the catalog that comes with kvplan is missing", where=name, help="install kvplan again")


def config_folder() -> str:
    """Where a user's own catalogs are: ``$XDG_CONFIG_HOME/kvplan``, else ``~/.config/kvplan``."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "kvplan")


def listed_paths() -> list[str]:
    """The files of ``$KVPLAN_CATALOG``."""
    return [path for path in os.environ.get("KVPLAN_CATALOG", "").split(os.pathsep) if path]


def config_paths() -> list[str]:
    """Every ``*.toml`` of the user's config folder, by name. A folder that can't be looked into counts as absent."""
    folder = config_folder()
    try:
        found = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in found if name.endswith(".toml") and not name.startswith(".")]


def _scan_shipped(file: CatalogFile, section: str) -> Iterator[tuple[str, _Place]]:
    """Names, offsets and aliases of a section by their lines alone, without parsing."""
    name, start, aliases = "", 0, ""
    for match in _ROW_OR_ALIASES.finditer(file.text):
        if match[1] is None:
            aliases = match[4]
            continue
        if name:
            yield name, _Place(file, start, tuple(_QUOTED.findall(aliases)))
        name = (match[2] or match[3]) if match[1] == section else ""
        start, aliases = match.start() + 1, ""
    if name:
        yield name, _Place(file, start, tuple(_QUOTED.findall(aliases)))


def _cut_row(text: str, start: int) -> str:
    """From a row's header to the next header that isn't one of its own sub-tables."""
    own = text[start + 1 : text.index("]", start)] + "."
    end = text.find("\n[", start)
    while end >= 0 and text.startswith(own, end + 3 if text.startswith("[[", end + 1) else end + 2):
        end = text.find("\n[", end + 1)
    return text[start:] if end < 0 else text[start : end + 1]


def _scan_parsed(file: CatalogFile, section: str) -> Iterator[tuple[str, _Place]]:
    """Names and aliases of a section of a user's file, which may be in any form that TOML has."""
    tables = parse(file)
    for key in tables:
        if key not in SECTIONS:
            guesses = did_you_mean(key, SECTIONS)
            tables_there = "tables: [models.*], [hosts.*], [gpus.*], [calibrations.*]"
            advice = f"did you mean [{guesses[0]}.NAME]?" if guesses else tables_there
            raise CatalogError(f"a catalog has no table or key {shorten(key)!r}", where=file.path, help=advice)
    rows = tables.get(section, {})
    if not isinstance(rows, dict):
        raise CatalogError(f"[{section}] must hold one table a row", where=file.path)
    for name, row in rows.items():
        where = f"{file.path} [{section}.{shorten(name)}]"
        if not isinstance(row, dict):
            raise CatalogError(f"must be a table (it is {shorten(repr(row))})", where=where)
        aliases = row.get("aliases", [])
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            raise CatalogError("aliases must be a list of names", where=where)
        yield name, _Place(file, None, tuple(aliases))
