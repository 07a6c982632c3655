"""The README's accuracy section is what the truth table says today, and no bar is missed."""

from __future__ import annotations

from tests import truth_table

GROUPS = truth_table.groups()


def test_the_table_is_fresh() -> None:
    text = truth_table.README.read_text(encoding="utf-8")
    assert truth_table.SECTION.search(text), "README.md has lost the marks of its accuracy section"
    fresh = truth_table.written(text, truth_table.section(GROUPS))
    assert text == fresh, "run: python -m tests.truth_table --write, and read what changed"


def test_no_bar_is_missed() -> None:
    assert truth_table.misses(GROUPS) == []


def test_a_worse_group_would_fail() -> None:
    worse = [group._replace(rows=tuple(row._replace(observed=row.observed * (1.1 + 3 * group.most_median))
                                       for row in group.rows))
             for group in GROUPS if group.most_median is not None]  # fmt: skip
    assert worse and all(group.misses() for group in worse)


def test_both_halves_have_rows() -> None:
    halves = [truth_table.is_held_out(row["id"]) for row in truth_table.lines("vllm_budgets.jsonl")]
    assert 0.3 < sum(halves) / len(halves) < 0.7
