"""A sweep as CSV: one row for every context, number of users and strategy."""

from __future__ import annotations

import csv
import io

from kvplan.results.sweep import SweepResult

COLUMNS = ("context_tokens", "users", "strategy", "outcome", "winner", "itl_s")


def render(answer: SweepResult) -> str:
    """``winner`` is true for one strategy a point, or for none; ``itl_s`` is the best estimate, empty if not known."""
    frontier = answer.frontier
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for context, judged, points in zip(frontier.contexts, frontier.rows, frontier.points, strict=True):
        for column, users in enumerate(frontier.users):
            for name, row in zip(frontier.strategies, judged, strict=True):
                won = "true" if points[column].strategy == name else "false"
                itl_s = row.itl_s[column]
                shown = "" if itl_s is None else repr(itl_s)
                rows.writerow((context, users, name, row.outcomes[column], won, shown))
    return text.getvalue()
