"""Incidents that others reported, as deployment files: how many get the verdict and the rule of the report."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kvplan.results.check import check
from kvplan.rules.interface import LEVELS, Finding

FILE = Path(__file__).parents[1] / "truth" / "incidents.jsonl"
LEAST_MATCHED = 0.9


class Tally(NamedTuple):
    """Files of one kind of row."""

    name: str
    files: int
    matched: int
    bar: float = 0.0

    @property
    def line(self) -> str:
        return f"| {self.name} | {self.files} | {self.matched} |"


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def findings_of(row: dict[str, Any], folder: Path) -> list[Finding]:
    """What the row's file gets, on the row's host: one of the catalog, or one of its own files."""
    for name, text in row["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    host = row.get("host")
    own = str(folder / host) if host in row["files"] else host
    return list(check([str(folder / next(iter(row["files"])))], host=own).findings)


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def is_matched(row: dict[str, Any], findings: Iterable[Finding]) -> bool:
    """The worst level of the row's rules is the reported one; without one nothing is said."""
    own = [item for item in findings if item.rule in listed(row["rule"])]
    worst = min((item.level for item in own), key=LEVELS.index, default=None)
    said = "says" not in row or any(row["says"] in item.message for item in own)
    return worst in listed(row["level"]) and said


def is_asked(row: dict[str, Any], findings: list[Finding]) -> bool:
    """Nothing fails, and the missing input is named in a question."""
    asked = any(item.level == "unknown" and row["missing"].lower() in item.message.lower() for item in findings)
    return asked and all(item.level != "fail" for item in findings)


def holds(row: dict[str, Any]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        findings = findings_of(row, Path(folder))
    return is_asked(row, findings) if "missing" in row else is_matched(row, findings)


def tallies() -> list[Tally]:
    """Reports with numbers, reports with few, cures, and reports that leave an input open."""
    kinds: dict[str, list[bool]] = {name: [] for name in _NAMES}
    for row in rows():
        kinds[_kind(row)].append(holds(row))
    return [Tally(_NAMES[kind], len(found), sum(found), LEAST_MATCHED) for kind, found in kinds.items()]


_NAMES = {
    "numbers": "verdict and rule of reports with numbers",
    "thin": "verdict and rule of reports with few numbers",
    "cure": "nothing said of what was reported to run",
    "open": "`unknown` with the missing input named, where the report leaves one open",
}


def _kind(row: dict[str, Any]) -> str:
    if "missing" in row:
        return "open"
    if row["level"] is None:
        return "cure"
    return "thin" if row.get("thin") else "numbers"


def section(found: Iterable[Tally]) -> list[str]:
    """The lines of the table."""
    return ["| reported incidents, as deployment files | files | as reported |\n|---|--:|--:|",
            *(item.line for item in found)]  # fmt: skip


def misses(found: Iterable[Tally]) -> list[str]:
    """Reports with numbers are held to the bar; cures and open reports to all of them."""
    parts = {item.name: item for item in found}
    said = []
    for kind, least in (("numbers", LEAST_MATCHED), ("cure", 1.0), ("open", 1.0)):
        item = parts[_NAMES[kind]]
        if item.matched < least * item.files:
            said.append(f"{item.name}: {item.matched} of {item.files}")
    return said
