"""The variables that a shell script assigns literally.

A name that is assigned twice, in a loop, by ``read`` or by a command has no literal value: which one holds is only
known when the script runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.shell_expansions import Expansion
from kvplan.deployments.shell_words import ShellReader

_STATEMENT = re.compile(
    r"(?:^|;|&&|\|\||\bthen\b|\bdo\b|\belse\b|\{)[ \t]*"
    r"(?P<keyword>(?:export|local|readonly|declare|typeset)[ \t]+(?:-\w+[ \t]+)*)?"
    r"(?P<first>(?P<name>[A-Za-z_]\w*)(?P<plus>\+)?=)",
    re.MULTILINE,
)
_VARYING = re.compile(r"\bfor[ \t]+\(*[ \t]*([A-Za-z_]\w*)|\bread[ \t]+(?:-\w+[ \t]+)*([A-Za-z_]\w*)")
_WORD_ASSIGNS = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_COLON_DEFAULT = re.compile(r"^[ \t]*:[ \t]+\"?\$\{([A-Za-z_]\w*):?=", re.MULTILINE)
MOST_ASSIGNMENTS = 1000


@dataclass(frozen=True, slots=True)
class Assignment:
    """One ``NAME=...`` in the file."""

    name: str
    position: int
    place: Place
    array: bool
    keeps: bool
    """``+=``: what was there before is kept."""


class Variables:
    """The variables of one script, and those of the container that it runs in."""

    def __init__(self, text: str, path: str, first_line: int, outer: dict[str, Expansion] | None = None) -> None:
        self._known: dict[str, Expansion] = dict(outer or {})
        self._reader = ShellReader(text, path, first_line, self.lookup)
        self._collect(text)

    def lookup(self, name: str) -> Expansion:
        """What ``$name`` stands for."""
        if name in self._known:
            return self._known[name]
        if name in "@*":
            return Expansion(reason=f"${name} comes from the caller", optional=True)
        where = "is given by the caller" if not name[0].isalpha() else "has no literal value in this file"
        return Expansion(reason=f"${name} {where}", optional=name[0].isalpha())

    def environment(self) -> dict[str, Word]:
        """Every variable with a known text, as a word with its line."""
        return {
            name: Word(known.text, known.place)
            for name, known in self._known.items()
            if known.reason is None and known.words is None and known.place is not None
        }

    def _collect(self, text: str) -> None:
        found = _assignments(text, self._reader)
        times: dict[str, list[Assignment]] = {}
        for item in found:
            times.setdefault(item.name, []).append(item)
        varying = {match[1] or match[2] for match in _VARYING.finditer(text)}
        ambiguous = set(varying)
        for name, items in times.items():
            if len({self._raw(text, item) for item in items}) > 1 or any(item.keeps for item in items):
                ambiguous.add(name)
                lines = ", ".join(str(item.place.line) for item in items[:3])
                self._known[name] = _unknown(f"${name} is assigned more than once (lines {lines})", items[0].place)
        for name in varying:
            self._known[name] = _unknown(f"${name} varies in a loop or is read as input", self._reader.place(0))
        for item in found:
            if item.name not in ambiguous:
                self._known[item.name] = self._value(text, item)
        self._defaults(text)
        if len(found) >= MOST_ASSIGNMENTS:  # a later one may change any of them
            reason = f"the file has more than {MOST_ASSIGNMENTS:,} assignments"
            self._known = {name: _unknown(reason, self._reader.place(0)) for name in self._known}

    def _raw(self, text: str, item: Assignment) -> str:
        end = text.find("\n", item.position)
        return text[item.position : end if end >= 0 else len(text)].partition("#")[0].strip()

    def _value(self, text: str, item: Assignment) -> Expansion:
        if item.array:
            words = self._reader.command(item.position + 1, inside_parentheses=True)
            return Expansion(words=tuple(words), place=item.place)
        words = self._reader.command(item.position)
        value = words[0] if words and text[item.position : item.position + 1] not in (" ", "\t", "\n", "") else None
        if value is None:
            return Expansion("", place=item.place)
        return Expansion(value.text, place=item.place, reason=value.unresolved)

    def _defaults(self, text: str) -> None:
        """``: ${NAME:=default}``."""
        for match in _COLON_DEFAULT.finditer(text):
            if match[1] not in self._known:
                words = self._reader.command(match.start() + match[0].index("$") - (match[0].count('"') > 0))
                if words and words[0].unresolved is None:
                    self._known[match[1]] = Expansion(words[0].text, place=self._reader.place(match.end()))


def _unknown(reason: str, place: Place) -> Expansion:
    return Expansion(reason=reason, place=place)


def _assignments(text: str, reader: ShellReader) -> list[Assignment]:
    """Every assignment that is a statement of its own; ``NAME=x command`` is the command's environment."""
    found: list[Assignment] = []
    for match in _STATEMENT.finditer(text):
        if len(found) >= MOST_ASSIGNMENTS:
            break
        after = match.end()
        place = reader.place(match.start("name"))
        if text[after : after + 1] == "(":
            found.append(Assignment(match["name"], after, place, array=True, keeps=bool(match["plus"])))
            continue
        words = reader.command(match.start("first"))
        if match["keyword"] is None and any(not _WORD_ASSIGNS.match(word.text) for word in words if not match["plus"]):
            continue
        found.append(Assignment(match["name"], after, place, array=False, keeps=bool(match["plus"])))
        found.extend(_further(text, match.start("first"), after, reader, words))
    return found


def _further(text: str, start: int, after: int, reader: ShellReader, words: list[Word]) -> list[Assignment]:
    """The second and later assignments of ``export A=1 B=2``."""
    end = text.find("\n", start)
    line = text[after : end if end >= 0 else len(text)]
    found = []
    for word in words[1:]:
        assigned = _WORD_ASSIGNS.match(word.text)
        offset = line.find(f" {assigned[1]}=") if assigned else -1
        if assigned and offset >= 0:
            position = after + offset + len(assigned[1]) + 2
            found.append(Assignment(assigned[1], position, reader.place(position), array=False, keeps=False))
    return found
