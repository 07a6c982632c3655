"""Shell patterns for paths, as ignore files have them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_FEW: Final = 2
"""Wildcards with which a regular expression is quick on any path; with more of them it may try for hours."""
_ONE, _STAR, _ANY, _SKIP, _FOLDERS = "?", "*", "**", "skip", "**/"
"""Parts of a pattern that are no plain character. ``_SKIP`` stands before ``_FOLDERS``, which may be none at all."""


def glob_matches(pattern: str, path: str) -> bool:
    """Whether a path, relative and with ``/``, is one that the pattern means.

    ``**`` stands for any folders and ``*`` stays within one name. A pattern without a slash is a name anywhere; one
    that names a folder means all that is in it.
    """
    parts = _parts(pattern)
    if sum(part in (_STAR, _ANY, _FOLDERS) for part in parts) <= _FEW:
        return _compiled(parts).fullmatch(path) is not None
    return _walked(parts, path)


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[str, ...]:
    text = pattern.removeprefix("./").strip("/")
    found = [] if "/" in pattern.removeprefix("./").rstrip("/") else [_SKIP, _FOLDERS]
    position = 0
    while position < len(text):
        if text.startswith("**/", position):
            found += [_SKIP, _FOLDERS]
            position += 3
        elif text.startswith("**", position):
            found.append(_ANY)
            position += 2
        else:
            found.append(text[position])
            position += 1
    return tuple(part for index, part in enumerate(found) if index == 0 or part != found[index - 1] or part != _STAR)


@lru_cache(maxsize=256)
def _compiled(parts: tuple[str, ...]) -> re.Pattern[str]:
    words = {_ONE: "[^/]", _STAR: "[^/]*", _ANY: ".*", _SKIP: "", _FOLDERS: "(?:.*/)?"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)


def _walked(parts: tuple[str, ...], path: str) -> bool:
    """All the places in the pattern at once, a character at a time: never more than their product of steps."""
    places = _entered(parts, {0})
    for character in path:
        if len(parts) in places and character == "/":
            return True
        after: set[int] = set()
        for place in places:
            part = parts[place] if place < len(parts) else ""
            if part in (_ANY, _FOLDERS) or (part == _STAR and character != "/"):
                after.add(place)
            if part == character or (part == _ONE and character != "/") or (part == _FOLDERS and character == "/"):
                after.add(place + 1)
        places = _entered(parts, after)
        if not places:
            return False
    return len(parts) in places


def _entered(parts: tuple[str, ...], places: set[int]) -> set[int]:
    """These places, with those that are reached from them without a character."""
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        part = parts[place] if place < len(parts) else ""
        for further in {_STAR: (1,), _ANY: (1,), _SKIP: (1, 2)}.get(part, ()):
            if place + further not in places:
                places.add(place + further)
                waiting.append(place + further)
    return places
