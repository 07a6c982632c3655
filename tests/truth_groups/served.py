"""Tokens per second of many users and of one: groups of the truth table, from ``tests/truth/served.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.interval import Interval
from tests.truth_table import Group, Row, lines

FILE = "served.jsonl"
DENSE = {"llama-3.1-8b", "llama-3.1-70b", "qwen3-32b"}
LEAST_DIFFERENCE = 1.15
"""Pairs that differ by less are not ranked."""


class Ranked(NamedTuple):
    """Pairs of one setting served differently, and how many kvplan puts in the right order."""

    pairs: int
    right: int


def words_of(row: dict[str, Any]) -> Words:
    """The row as the command line would be asked."""
    tp, dp = row.get("tp"), row.get("dp", 1)
    return Words(
        model=row["model"], host=row["host"], engine=row["engine"], weights=row["weights"], users=row["users"],
        gpus=row.get("gpus", (tp or 1) * dp), tp=tp, dp=dp if tp else None, ep=row.get("ep") if tp else None,
        context=row["prompt"] + row["output"], prompt_tokens=row["prompt"], output_tokens=row["output"],
        enforce_eager=row.get("eager", False),
    )  # fmt: skip


def rate_of(row: dict[str, Any]) -> Interval:
    """Tokens per second of all users. Of a batch that starts and ends together, no prefill is in the way."""
    words = words_of(row)
    (found,) = assess(resolve(words), ("hbm",)).strategies
    if row.get("kind") == "static-batch":
        assert found.itl_s is not None
        return found.itl_s.map(lambda seconds: words.users / seconds)
    assert found.decode_tokens_per_s is not None
    return found.decode_tokens_per_s


def truth_row(row: dict[str, Any]) -> Row:
    """Predicted against observed."""
    name = f"{row['model']} {row['weights']}, {row['engine']}, {row['host']}, {row['users']} users"
    return Row(name, tuple(rate_of(row)), row["tokens_per_s"], "tokens/s")


def group_name(row: dict[str, Any]) -> str:
    """Family of a row: how it is served, by what, and whether it was fitted."""
    if "kind" not in row:
        family = "dense" if row["model"] in DENSE else "mixture of experts"
        return f"served closed loop, {row['engine']}, {family}, {row['half']}"
    return f"{row['kind']}, {row['engine']}, {row['half']}"


def served_groups() -> list[Group]:
    """By engine and family, each by half; then all closed loops, which the bar is for."""
    parts: dict[str, list[Row]] = {}
    for row in lines(FILE):
        found = truth_row(row)
        parts.setdefault(group_name(row), []).append(found)
        if "kind" not in row:
            parts.setdefault(f"served closed loop, all, {row['half']}", []).append(found)
    return [_barred(name, tuple(rows)) for name, rows in sorted(parts.items())]


def _barred(name: str, rows: tuple[Row, ...]) -> Group:
    if ", all, " in name:
        return Group(name, rows, 0.20, None, 0.8, listed=False)
    return Group(name, rows, listed=False)


def ranked(rows: Iterable[dict[str, Any]]) -> Ranked:
    """Pairs that share model, lengths and users and differ by over 15 %: which is faster?"""
    settings: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in rows:
        key = (row["model"], row["prompt"], row["output"], row["users"])
        settings.setdefault(key, []).append((row["tokens_per_s"], rate_of(row).best))
    pairs = [
        (one, other)
        for found in settings.values()
        for one, other in combinations(found, 2)
        if max(one[0], other[0]) > LEAST_DIFFERENCE * min(one[0], other[0])
    ]
    return Ranked(len(pairs), sum((one[0] < other[0]) == (one[1] < other[1]) for one, other in pairs))
