"""Lists as CSV: the fields of the JSON, one row an entry. Names in a list are joined by blanks."""

from __future__ import annotations

import csv
import io
from typing import Any

from kvplan.render.json_text import HasJson

_ENVELOPE = ("schema", "kvplan_version")


def render(answer: HasJson) -> str:
    """A header even where nothing is listed."""
    (entries,) = (value for name, value in answer.to_json().items() if name not in _ENVELOPE)
    text = io.StringIO()
    names = list(dict.fromkeys(name for entry in entries for name in entry)) or ["name"]
    rows = csv.DictWriter(text, names, lineterminator="\n")
    rows.writeheader()
    rows.writerows({name: _cell(value) for name, value in entry.items()} for entry in entries)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(map(str, value)) if isinstance(value, list) else value
