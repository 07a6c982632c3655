"""Lists as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvplan.render.listing_rows import Listed, rows_of
from kvplan.render.screen import Column


def render(answer: Listed) -> str:
    """All columns."""
    listing = rows_of(answer)
    return "\n".join(table(listing.columns, listing.rows)) + "\n"


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table. A bar inside a cell would end it, so it is escaped."""
    lines = [_row([column.title for column in columns])]
    lines.append(_row(["--:" if column.right else "---" for column in columns]))
    return [*lines, *(_row([cell.replace("|", "\\|") for cell in row]) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
