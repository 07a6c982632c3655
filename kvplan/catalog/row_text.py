"""Where a row stands in the text of a user's catalog file, line by line, so that it can be taken out of it."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def around_row(data: bytes, section: str, name: str) -> tuple[bytes, bytes]:
    """What stands before ``[section.name]``, and what stands after it less the row's sub-tables.

    Comments before and after the row stay, those between its lines go. Lines of a long text that look like headers
    can mislead this: the caller parses what comes out, and holds it against what it must be.
    """
    before: bytes | None = None
    kept, held = bytearray(), bytearray()
    inside = False
    for line in data.splitlines(keepends=True):
        path = header_path(line)
        if path:
            own = path[:2] == (section, name)
            if inside and not own:
                kept += held  # comments and blank lines before the next row are not of this one
            held.clear()
            inside = own
            if own and before is None:
                before = bytes(kept)
                kept.clear()
        if not inside:
            kept += line
        elif _says_something(line):
            held.clear()
        else:
            held += line
    return before or b"", bytes(kept + held)


def header_path(line: bytes) -> tuple[str, ...]:
    """The dotted name of a table's header, part by part; () where the line is none."""
    text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if not text.startswith("["):
        return ()
    try:
        table: Any = tomllib.loads(text)
    except ValueError:
        return ()
    path = []
    while table:
        if isinstance(table, list):
            table = table[0]
        else:
            key, table = next(iter(table.items()))
            path.append(key)
    return tuple(path)


def _says_something(line: bytes) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(b"#")
