"""The variables of a script as it is read from top to bottom.

A variable has the value that was assigned last. What only some branches assign is known where they agree; where one
adds to a list that the other leaves alone, the words that may be there say so. A value that comes from outside
(``$1``, a variable that nothing sets) leaves the script's own one in force, as a default does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.shell.expansions import Expansion

_FROM_CALLER = re.compile(r"^\$(?:[0-9@*]|OPTARG|\{(?:[0-9]|OPTARG)[^{}]*\})$")
MOST_ASSIGNMENTS = 1000
LONGEST_VALUE = 16_384
"""Characters of a variable, or words of an array: scripts that double a value over and over stay small."""
_OTHERS = {"#": "$# is given by the caller", "?": "$? is known when the script runs"}


@dataclass(slots=True)
class _Frame:
    """An ``if``, ``case`` or loop that is being read."""

    before: dict[str, Expansion | None] = field(default_factory=dict)
    """What each variable that any of its branches touches was before."""
    touched: set[str] = field(default_factory=set)
    branches: list[dict[str, Expansion]] = field(default_factory=list)
    dead: bool = False
    """The branch that is being read leaves the script, or its condition is known to be false."""
    decided: bool = False
    """An earlier branch, or this one, is known to be the one that is taken."""
    unconditional: bool = False
    """One branch is always taken."""


class ShellState:
    """What each variable holds where the script has been read to."""

    def __init__(self, outer: dict[str, Expansion] | None = None) -> None:
        self._known: dict[str, Expansion] = dict(outer or {})
        self._frames: list[_Frame] = []
        self._arguments: list[tuple[Word, ...] | None] = []
        self._assigned = 0
        self._environment: dict[str, Word] | None = None

    @property
    def in_branch(self) -> bool:
        """Whether what is being read runs only under a condition."""
        return bool(self._frames)

    @property
    def full(self) -> bool:
        """Whether there are more assignments than are kept: a later one may change any of them."""
        return self._assigned > MOST_ASSIGNMENTS

    def lookup(self, name: str) -> Expansion:
        """What ``$name`` stands for."""
        if self.full:
            return Expansion(reason=f"the file has more than {MOST_ASSIGNMENTS:,} assignments", place=Place("", 0))
        if name in self._known:
            return self._known[name]
        if name == "HOME":
            return Expansion("~")
        given = self._arguments[-1] if self._arguments else None
        if name in "@*":
            if given is not None:
                return Expansion(words=given)
            return Expansion(reason=f"${name} comes from the caller", optional=True)
        if name.isdigit() and name != "0" and given is not None:
            word = given[int(name) - 1] if int(name) <= len(given) else None
            return Expansion(word.text, place=word.place, reason=word.unresolved) if word else Expansion("")
        if not name[0].isalpha() and name[0] != "_":
            return Expansion(reason=_OTHERS.get(name, f"${name} is given by the caller"))
        return Expansion(reason=f"${name} has no literal value in this file", optional=True)

    def assign(self, name: str, value: Expansion) -> None:
        """``NAME=value``."""
        self._assigned += 1
        self._environment = None
        if self.full:
            self._known = {}
            return
        self._touch(name, self._known.get(name))
        too_long = len(value.text) > LONGEST_VALUE or len(value.words or ()) > LONGEST_VALUE
        self._known[name] = Expansion(place=value.place, reason=f"${name} is too long") if too_long else value

    def append(self, name: str, value: Expansion) -> None:
        """``NAME+=value``; an array grows by words, a text by text."""
        old = self._known.get(name)
        if value.words is not None or (old is not None and old.words is not None):
            words = (*_words(old), *_words(value))
            reason = (old.reason if old else None) or value.reason
            self.assign(name, Expansion((old.text if old else "") + value.text, words, value.place, reason))
        else:
            text = (old.text if old else "") + value.text
            reason = (old.reason if old else f"${name} may have a value before") or value.reason
            self.assign(name, Expansion(text, place=value.place, reason=reason))

    def unset(self, name: str) -> None:
        """``unset NAME``."""
        if name in self._known:
            self.assign(name, Expansion(""))

    def environment(self) -> dict[str, Word]:
        """Every variable with a known text, as a word with its line."""
        if self._environment is None:
            self._environment = {
                name: Word(known.text, known.place)
                for name, known in self._known.items()
                if known.reason is None and known.words is None and known.place is not None
            }
        return self._environment

    def enter(self, arguments: tuple[Word, ...] | None) -> None:
        """A function with these arguments; None where nobody calls it."""
        self._arguments.append(arguments)

    def leave(self) -> None:
        """The end of a function."""
        self._arguments.pop()

    def shift(self, places: int) -> None:
        """``shift``: the first arguments are gone."""
        if self._arguments and self._arguments[-1] is not None:
            self._arguments[-1] = self._arguments[-1][places:]

    def open(self, holds: bool | None) -> None:
        """The first branch of a condition that holds, does not, or is not known (None)."""
        self._frames.append(_Frame(dead=holds is False, decided=holds is True, unconditional=holds is True))

    def branch(self, holds: bool | None, *, last: bool = False) -> None:
        """The next branch; the last one takes whatever the others left."""
        if not self._frames:
            return
        frame = self._frames[-1]
        self._end_branch(frame)
        frame.dead = frame.decided or holds is False
        frame.decided = frame.decided or holds is True
        frame.unconditional = frame.unconditional or last or holds is True

    def give_up(self) -> None:
        """``exit``: what this branch assigns reaches nothing behind it."""
        if self._frames:
            self._frames[-1].dead = True

    def close(self) -> None:
        """The end of the condition or loop."""
        if not self._frames:
            return
        frame = self._frames[-1]
        self._end_branch(frame)
        self._frames.pop()
        self._environment = None
        live = frame.branches + ([] if frame.unconditional else [{}])
        for name, before in frame.before.items():
            self._touch(name, before)
            values = [branch.get(name, before) for branch in live]
            merged = _merged(name, [value for value in values if value is not None])
            if merged is None:
                self._known.pop(name, None)
            else:
                self._known[name] = merged

    def _touch(self, name: str, before: Expansion | None) -> None:
        if self._frames:
            self._frames[-1].before.setdefault(name, before)
            self._frames[-1].touched.add(name)

    def _end_branch(self, frame: _Frame) -> None:
        if not frame.dead:
            frame.branches.append({name: self._known[name] for name in frame.touched if name in self._known})
        for name in frame.touched:
            before = frame.before[name]
            if before is None:
                self._known.pop(name, None)
            else:
                self._known[name] = before
        frame.touched.clear()
        self._environment = None


def _merged(name: str, values: list[Expansion]) -> Expansion | None:
    """What a variable holds behind branches that left it with these values."""
    own = [value for value in values if not _from_outside(value)]
    different: list[Expansion] = []
    for value in own or values:
        if not any(_same(value, other) for other in different):
            different.append(value)
        if len(different) > 8:
            break
    if len(different) <= 1:
        return different[0] if different else None
    places = sorted({(value.place.path, value.place.line) for value in different if value.place is not None})
    lines = ", ".join(str(line) for _, line in places[:3])
    reason = f"${name} is assigned more than once (lines {lines})" if lines else f"${name} has several values"
    if all(_is_list(value) for value in different):
        return Expansion(words=tuple(_maybe([_words(value) for value in different], reason)), place=different[0].place)
    place = next((value.place for value in different if value.place is not None), Place("", 0))
    return Expansion(reason=reason, place=place)


def _from_outside(value: Expansion) -> bool:
    """Given by the caller, or by a variable that nothing in the file sets."""
    return value.reason is not None and (value.outside or _FROM_CALLER.match(value.text) is not None)


def _same(one: Expansion, other: Expansion) -> bool:
    if one.words is None or other.words is None:
        return (one.text, one.words, one.reason) == (other.text, other.words, other.reason)
    return [word.text for word in one.words] == [word.text for word in other.words]


def _is_list(value: Expansion) -> bool:
    """An array, or a text that holds flags or nothing."""
    return value.words is not None or (value.reason is None and value.text[:1] in ("", "-"))


def _words(value: Expansion | None) -> tuple[Word, ...]:
    if value is None:
        return ()
    if value.words is not None:
        return value.words
    return tuple(Word(text, value.place or Place("", 0), value.reason) for text in value.text.split())


def _maybe(lists: list[tuple[Word, ...]], reason: str) -> Iterable[Word]:
    """The words that all lists begin with, then those that only some of them have."""
    shared = 0
    while all(len(words) > shared for words in lists) and len({words[shared].text for words in lists}) == 1:
        shared += 1
    yield from lists[0][:shared]
    for words in lists:
        yield from (replace(word, branch=word.branch or reason) for word in words[shared:])
