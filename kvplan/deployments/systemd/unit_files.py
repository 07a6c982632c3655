"""Units of systemd and quadlets of podman: sections of ``Key=value`` lines, drop-ins laid over them.

Source: systemd.syntax(7), systemd.unit(5). A line that is none of that, such as a stray command, is passed over, as
systemd does with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.words import ShellReader
from kvplan.deployments.variable_files import variables_in

_SECTION = re.compile(r"^\[([^\]\n]{1,100})\][ \t]*$")
_ENTRY = re.compile(r"^[ \t]*([A-Za-z][\w-]*)[ \t]*=[ \t]*")
_PAIR = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_SPECIFIER = re.compile(r"%[iIjJ]")
MOST_ENTRIES = 5000


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``Key=value``; the value on its own lines, each but the last ended by a backslash."""

    section: str
    key: str
    text: str
    source: Source
    line: int

    @property
    def place(self) -> Place:
        """Its first line."""
        return self.source.at(self.line)


@dataclass(slots=True)
class Unit:
    """The entries of a unit and its drop-ins in the order in which they hold."""

    entries: list[Entry] = field(default_factory=list)
    drop_ins: list[str] = field(default_factory=list)

    def listed(self, section: str, key: str) -> list[Entry]:
        """The entries of a key that may be repeated: an empty one forgets those before it."""
        found: list[Entry] = []
        for entry in self.entries:
            if entry.section == section and entry.key == key:
                found = [*found, entry] if entry.text.strip() else []
        return found

    def last(self, section: str, key: str) -> Entry | None:
        """The entry that holds; None where there is none or it was emptied."""
        found = self.listed(section, key)
        return found[-1] if found else None


def unit_of(source: Source) -> Unit:
    """A unit with the drop-ins beside it; of a drop-in the unit that it is for, with all of them."""
    if source.folder.rstrip("/").endswith(".d"):
        base = source.beside(f"../{source.folder.replace(chr(92), '/').rstrip('/').rpartition('/')[2][:-2]}")
        if isinstance(base, Source):
            return unit_of(base)
    unit = Unit(list(_entries(source)))
    for name in source.names_in(f"{source.name}.d"):
        drop_in = source.beside(f"{source.name}.d/{name}") if name.endswith(".conf") else None
        if isinstance(drop_in, Source) and drop_in.path != source.path:
            unit.entries += _entries(drop_in)
            unit.drop_ins.append(drop_in.path)
    return unit


def _entries(source: Source) -> Iterator[Entry]:
    section, lines, at, count = "", source.text.split("\n"), 0, 0
    while at < len(lines) and count < MOST_ENTRIES:
        line = lines[at]
        heading = _SECTION.match(line)
        match = _ENTRY.match(line) if not line.lstrip().startswith(("#", ";")) else None
        start = at
        at += 1
        if heading is not None:
            section = heading[1]
        if match is None:
            continue
        parts = [line[match.end() :].rstrip("\r")]
        while parts[-1].endswith("\\") and at < len(lines):
            following = lines[at].rstrip("\r")
            at += 1
            comment = following.lstrip().startswith(("#", ";"))
            parts[-1] = parts[-1][:-1] + " \\"
            parts.append("\\" if comment else following)
        count += 1
        yield Entry(section, match[1], "\n".join(parts), source, start + 1)


def unread_rest(unit: Unit) -> list[Unreadable]:
    """What stands behind the last entry that is read of a file."""
    counts: dict[str, int] = {}
    for entry in unit.entries:
        counts[entry.source.path] = counts.get(entry.source.path, 0) + 1
        if counts[entry.source.path] == MOST_ENTRIES:
            return [Unreadable(entry.place, f"not read further: more than {MOST_ENTRIES:,} entries", level="fail")]
    return []


def words_of(text: str, place: Place, environment: dict[str, Expansion] | None = None, missing: str = "") -> list[Word]:
    """A value as words. With an ``environment`` its ``$NAME`` are filled in; ``missing`` says where others may be."""

    def lookup(name: str) -> Expansion:
        if name == "$":
            return Expansion("$")
        if environment is None:
            return Expansion(f"${name}")
        known = environment.get(name)
        if known is not None:
            return known
        return Expansion(reason=f"${name} is not set in the unit{missing}", optional=True)

    reader = ShellReader(text, place.path, place.line, lookup)
    reader.plain = True
    return [_specified(word) for word in reader.command(0, inside_parentheses=True)]


def _specified(word: Word) -> Word:
    """``%i`` is the part of the unit's name behind ``@``, which is given when it is started; ``%h`` the home."""
    if word.unresolved is None and _SPECIFIER.search(word.text.replace("%%", "")):
        return Word(word.text, word.place, "the instance (%i) is named when the unit is started")
    return Word(
        re.sub("%h(?=/|$)", "~", word.text).replace("%%", "%"), word.place, word.unresolved, word.optional, word.cut
    )


def environment_of(unit: Unit, section: str) -> tuple[dict[str, Expansion], str]:
    """``Environment=`` and the files of ``EnvironmentFile=`` over it; and which files are not in the tree."""
    found: dict[str, Expansion] = {}
    for entry in unit.listed(section, "Environment"):
        for word in words_of(entry.text, entry.place):
            match = _PAIR.match(word.text)
            if match is not None:
                found[match[1]] = Expansion(match[2], place=word.place, reason=word.unresolved)
    missing: list[str] = []
    for entry in unit.listed(section, "EnvironmentFile"):
        path = entry.text.strip().lstrip("-")
        file = file_named(entry.source, path)
        if file is None:
            example = next(
                (name for name in (f"{path}.example", f"{path}.sample") if file_named(entry.source, name)), ""
            )
            missing.append(path + (f" (only {example.rpartition('/')[2]})" if example else ""))
        else:
            found |= variables_in(file)
    return found, f"; {', '.join(missing[:3])[:120]} is not in the tree" if missing else ""


def file_named(source: Source, path: str) -> Source | None:
    """A file of the tree by its place on the host: the longest end of the path that is there."""
    parts = [part for part in re.sub(r"%h|~", "", path).split("/") if part not in ("", ".", "..")]
    for up in ("", "../", "../../"):
        for cut in range(max(0, len(parts) - 5), len(parts)):
            found = source.beside(up + "/".join(parts[cut:]))
            if isinstance(found, Source) and found.path != source.path:
                return found
    return None
