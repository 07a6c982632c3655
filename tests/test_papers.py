"""The papers' own rows, by family: the bars hold, and no interval is wider than it may be."""

from __future__ import annotations

import pytest

from tests.truth_groups import papers
from tests.truth_table import Group

GROUPS = {group.name: group for group in papers.groups()}
LARGE_ENOUGH = 15
"""Rows of a family, over both halves."""


@pytest.mark.parametrize("group", GROUPS.values(), ids=list(GROUPS))
def test_every_family_holds_its_bars(group: Group) -> None:
    assert group.misses() == []


@pytest.mark.parametrize("family", papers.BARS)
def test_fitted_rows_and_predicted_ones_are_both_there(family: str) -> None:
    halves = [GROUPS[f"papers: {family}, {half}"].rows for half in ("fitted", "held out")]
    assert all(halves)
    missed = GROUPS.get(f"papers: {family}, known misses", Group("", ()))
    assert sum(map(len, halves)) + len(missed.rows) >= LARGE_ENOUGH


def test_intervals_of_retrieval_are_honest_and_no_wider_than_they_may_be() -> None:
    rows = [row for name, group in GROUPS.items() if "retrieval" in name for row in group.rows]
    assert sum(row.inside for row in rows) / len(rows) >= 0.85
    for row in rows:
        assert row.predicted[2] / row.predicted[0] <= papers.WIDEST_RETRIEVAL, row.name


def test_a_known_miss_is_still_one() -> None:
    """A row that is no longer missed belongs among the others."""
    rows = [row for name, group in GROUPS.items() if "known misses" in name for row in group.rows]
    assert rows
    assert all(abs(row.error) > 0.02 for row in rows)


@pytest.mark.parametrize("family", [name for name, bars in papers.BARS.items() if bars])
def test_a_family_that_is_off_by_half_fails(family: str) -> None:
    for half in ("fitted", "held out"):
        group = GROUPS[f"papers: {family}, {half}"]
        worse = tuple(row._replace(observed=2.5 * row.observed) for row in group.rows)
        assert group._replace(rows=worse).misses()
