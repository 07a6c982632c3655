"""The columns of the strategy table, and which of them a screen keeps when it is too narrow for all.

A title has two lines, so that a column is as narrow as its figures. What is used of a resource comes before its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.render import humans
from kvplan.render.fit_rows import ms_cell, users_cell, verdict_words


class Cells(NamedTuple):
    """One column of the strategy table: its title and what it says of a strategy."""

    title: str
    of: Callable[[StrategyAssessment], str]
    right: bool = True


_STRATEGY = Cells("\nstrategy", lambda item: item.id, right=False)
_TOKEN = Cells("KV of\na token", lambda item: humans.bytes_per_token(item.kv_bytes_per_token))
_HBM = Cells("HBM\nGiB", lambda item: humans.used_of_limit(item.budgets.get("hbm")))
_DRAM = Cells("DRAM\nGiB", lambda item: humans.used_of_limit(item.budgets.get("dram_capacity")))
_LINK = Cells("link\nGB/s", lambda item: humans.used_of_limit(item.budgets.get("link")))
_CORES = Cells("CPU\ncores", lambda item: humans.used_of_limit(item.budgets.get("cpu_cores")))
_USERS = Cells("users\nat most", users_cell)
_TIME = Cells("ms a token\nbest (low..high)", ms_cell)
_BEST_TIME = Cells("ms a\ntoken", lambda item: ms_cell(item).partition(" ")[0])
_LOSS = Cells("points\nlost", lambda item: humans.loss(item.accuracy))
_ALWAYS = {_STRATEGY.title, _HBM.title, _USERS.title, "\nverdict"}


def worth_showing(columns: Sequence[Cells], items: Sequence[StrategyAssessment]) -> list[Cells]:
    """Without the columns that say nought or nothing of every strategy."""
    return [column for column in columns if column.title in _ALWAYS or any(map(_says_something, map(column.of, items)))]


def _says_something(cell: str) -> bool:
    return cell not in (humans.NOTHING, "0") and not cell.startswith("0/")


def choices(assessment: Assessment) -> list[list[Cells]]:
    """Sets of columns, the fullest first: the screen takes the first one that it can hold."""
    objective_s, winner = assessment.deployment.objectives.itl_s, assessment.verdict.strategy
    verdict = Cells("\nverdict", lambda item: verdict_words(item, objective_s, item.id == winner), right=False)
    return [
        [_STRATEGY, _TOKEN, _HBM, _DRAM, _LINK, _CORES, _USERS, _TIME, _LOSS, verdict],
        [_STRATEGY, _HBM, _DRAM, _LINK, _CORES, _USERS, _TIME, _LOSS, verdict],
        [_STRATEGY, _HBM, _DRAM, _LINK, _CORES, _USERS, _TIME, verdict],
        [_STRATEGY, _HBM, _DRAM, _LINK, _CORES, _USERS, _BEST_TIME, verdict],
        [_STRATEGY, _HBM, _LINK, _USERS, _TIME, verdict],
        [_STRATEGY, _HBM, _USERS, _TIME, verdict],
        [_STRATEGY, _HBM, _USERS, _BEST_TIME, verdict],
        [_STRATEGY, _USERS, _BEST_TIME, verdict],
    ]
