"""On which line of a TOML file each key stands: ``tomllib`` reads values, not places."""

from __future__ import annotations

import re
from typing import Final

from kvplan.catalog.toml_text import KEY_PART

_HEADER = re.compile(r"[ \t]*\[\[?([^\]\n]*)\]")
_KEY = re.compile(rf"[ \t]*({KEY_PART}(?:[ \t]*\.[ \t]*{KEY_PART})*)[ \t]*=")
_PART = re.compile(r"[\w-]+|\"([^\"]*)\"|'([^']*)'")
_QUOTES: Final = ('"""', "'''", '"', "'")


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """(table, ..., key) -> line, counted from 1, of a text that ``tomllib`` has accepted. Tables are keys too.

    A value's own lines are skipped, so that text that looks like a key inside a string or an array is none.
    """
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    position = line = 0
    while position < len(text):
        line += 1
        header = _HEADER.match(text, position)
        key = None if header else _KEY.match(text, position)
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        if header:
            table = _parts(header[1])
            found.setdefault(table, line)
        elif key:
            found.setdefault((*table, *_parts(key[1])), line)
            end = _value_end(text, key.end())
            line += text.count("\n", position, end)
        position = end + 1
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    parts = _PART.finditer(dotted)
    return tuple(next((text for text in match.groups() if text is not None), match[0]) for match in parts)


def _value_end(text: str, position: int) -> int:
    """The newline that ends a value: not one inside a string, an array or a comment."""
    depth = 0
    while position < len(text):
        character = text[position]
        if character in "\"'":
            position = _string_end(text, position)
            continue
        if character == "#":
            newline = text.find("\n", position)
            position = len(text) if newline < 0 else newline
            continue
        depth += (character in "[{") - (character in "]}")
        if character == "\n" and depth <= 0:
            return position
        position += 1
    return position


def _string_end(text: str, position: int) -> int:
    quote = next(mark for mark in _QUOTES if text.startswith(mark, position))
    position += len(quote)
    while position < len(text) and not text.startswith(quote, position):
        position += 2 if text[position] == "\\" and quote[0] == '"' else 1
    position += len(quote)
    while len(quote) == 3 and position < len(text) and text[position] == quote[0]:
        position += 1  # a string may end in up to two quotes of its own
    return position
