"""Lists on a screen: as many columns as it can hold."""

from __future__ import annotations

from kvplan.render.listing_rows import Listed, Listing, rows_of
from kvplan.render.screen import Column, Page, natural_columns


def render(answer: Listed) -> str:
    """The table and a line about it."""
    listing, page = rows_of(answer), Page()
    if listing.rows:
        columns, rows = _fitting(listing, page.columns)
        page.table(columns, rows)
        page.gap()
    page.faint(listing.footer, 2)
    return page.text()


def _fitting(listing: Listing, width: int) -> tuple[list[Column], list[list[str]]]:
    grouped = _grouped(listing)
    for choice in listing.choices:
        columns = [listing.columns[index] for index in choice]
        rows = [[row[index] for index in choice] for row in grouped]
        if natural_columns(columns, rows) <= width:
            break
    return columns, rows


def _grouped(listing: Listing) -> list[tuple[str, ...]]:
    """The rows, those of a group indented below its heading. One group alone needs no heading."""
    if len(set(listing.groups)) < 2:
        return list(listing.rows)
    nothing = ("",) * (len(listing.columns) - 1)
    rows: list[tuple[str, ...]] = []
    above = ""
    for group, row in zip(listing.groups, listing.rows, strict=True):
        if group != above:
            rows += [("", *nothing)] if rows else []
            rows.append((group, *nothing))
            above = group
        rows.append((f"  {row[0]}", *row[1:]))
    return rows
