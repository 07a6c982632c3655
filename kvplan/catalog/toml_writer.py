"""Tables of plain values -> TOML text, laid out as the shipped catalogs are: keys first, then tables in tables.

What TOML has no form for is refused with ValueError (text that is no Unicode), or left to the caller (``null``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

LINE_COLUMNS: Final = 120

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def table_text(path: Sequence[str], table: Mapping[str, Any]) -> str:
    """``[a.b]`` with its keys, and a table of its own for every value that is a table too long for its line."""
    lines, inner = [f"[{'.'.join(key_text(part) for part in path)}]"], []
    for key, value in table.items():
        if isinstance(value, Mapping) and not _fits_in_line(key, value):
            inner.append(table_text((*path, key), value))
        elif value is not None:
            lines.append(f"{key_text(key)} = {_value(value, _wide=True)}")
    return "\n".join(lines) + "\n" + "".join(inner)


def key_text(key: str) -> str:
    """The key as it is, or in quotes."""
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _fits_in_line(key: str, table: Mapping[str, Any]) -> bool:
    """An inline table holds a few numbers and words; what holds tables itself has lines of its own."""
    if any(isinstance(value, (Mapping, list, tuple)) for value in table.values()):
        return False
    return len(f"{key_text(key)} = {_value(table)}") <= LINE_COLUMNS


def _value(value: Any, _wide: bool = False) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_text(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return _list([_value(item) for item in value], _wide)
    raise ValueError(f"TOML has no form for {type(value).__name__}")


def _list(items: list[str], wide: bool) -> str:
    """On one line where that is short; else as many a line as there is room for."""
    line = f"[{', '.join(items)}]"
    if not wide or len(line) <= LINE_COLUMNS - 20:
        return line
    rows = [""]
    for item in items:
        if rows[-1] and len(rows[-1]) + len(item) + 6 > LINE_COLUMNS:
            rows.append("")
        rows[-1] += f"{' ' if rows[-1] else ''}{item},"
    return "[\n" + "".join(f"    {row}\n" for row in rows) + "]"


def _float(value: float) -> str:
    """As Python writes it, which is TOML but for the three values that are no numbers."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _text(text: str) -> str:
    """JSON's escapes are all in TOML; beyond them TOML wants one for the delete character."""
    text.encode("utf-8")  # a lone surrogate can stand in no file
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
