"""The budgets, figures and verdicts of kvplan's answers in words: ``figures.toml``, one table each."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class FigureText(NamedTuple):
    """One figure in words."""

    name: str
    title: str
    text: str
    unit: str = ""
    formula: tuple[str, ...] = ()
    source: str = ""
    see: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Other names: flags and fields of the JSON."""


@cache
def all_figures() -> dict[str, FigureText]:
    """Every figure by name, in the order of the file."""
    text = Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
    return {name: _figure(name, row) for name, row in tomllib.loads(text).items()}


def find_figure(name: str) -> FigureText | None:
    """A figure by any of its names, in any case; ``kv-pool-bytes`` and ``--itl-ms`` are found too."""
    wanted = name.lower().lstrip("-")
    for figure in all_figures().values():
        names = (figure.name, *figure.also)
        if wanted in names or wanted.replace("-", "_") in names:
            return figure
    return None


def _figure(name: str, row: dict[str, str | list[str]]) -> FigureText:
    return FigureText(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})  # type: ignore[arg-type]
