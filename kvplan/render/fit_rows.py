"""Which of many strategies are worth a line on one screen, and what is only worth a word.

Dozens of strategies are judged. A person reads: HBM, the winner, the plain strategies, and the combinations that
change the answer. What is left out is said: no kernel, not applicable, unknown, the same as another here, or more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kvplan.assess.verdict import best_first, weights_fit
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.render import humans

MOST_ROWS = 12
MOST_COMBINATIONS = 3


class Screenful(NamedTuple):
    """The rows of a table, in the order of the assessment, and what was left out of it."""

    rows: tuple[StrategyAssessment, ...]
    same: tuple[tuple[StrategyAssessment, StrategyAssessment], ...]
    """(left out, the simpler one whose figures it shares)."""
    excused: tuple[StrategyAssessment, ...]
    """Those without figures that mean anything: no kernel, no second pool, an unknown input, no such layout."""
    winner: StrategyAssessment | None
    more: int
    """Judged, and neither in the table nor named under it."""


def screenful(assessment: Assessment, most_rows: int = MOST_ROWS) -> Screenful:
    """Choose the rows."""
    judged = [item for item in assessment.strategies if item.budgets and (item.works or not item.reason)]
    excused = tuple(item for item in assessment.strategies if not item.budgets)
    winner = assessment.verdict.strategy
    if not weights_fit(assessment):
        judged = [item for item in judged if "+" not in item.id or item.works]
    distinct, same = _without_twins(judged, winner)
    chosen = _choose(distinct, winner, most_rows)
    rows = tuple(item for item in distinct if item.id in chosen)
    silent = len(assessment.strategies) - len(rows) - len(excused) - sum("+" not in item.id for item, _ in same)
    best = next((item for item in rows if item.id == winner), None)
    return Screenful(rows, tuple(same), excused, best, silent)


def _choose(items: list[StrategyAssessment], winner: str | None, most_rows: int) -> set[str]:
    """Ids: HBM and the winner, then plain strategies, then combinations: all of them best or closest first."""
    misses = sorted((item for item in items if not item.works), key=lambda item: item.overload)
    ordered = [*best_first(item for item in items if item.works), *misses]
    plain = one_of_each_series([item.id for item in ordered if "+" not in item.id], [winner])
    combined = [item.id for item in ordered if "+" in item.id and _adds(item, items)][:MOST_COMBINATIONS]
    first = [item.id for item in items if item.id in ("hbm", winner)]
    return set(list(dict.fromkeys([*first, *plain, *combined]))[:most_rows])


def one_of_each_series(ids: list[str], winners: Iterable[str | None]) -> list[str]:
    """Of formats that differ in their bits alone (``kv-turboquant-...``) the winners, else the first."""
    heads: dict[str, str] = {}
    for name in ids:
        heads.setdefault(name.rpartition("-")[0] if name.count("-") > 1 and name.startswith("kv-") else name, name)
    return [name for name in ids if name in winners or name in heads.values()]


def _adds(item: StrategyAssessment, items: Iterable[StrategyAssessment]) -> bool:
    """A combination earns its line where it works and neither part does, or where nothing works."""
    parts = [other for other in items if other.id in item.id.split("+")]
    if any(part.works for part in parts):
        return False
    return item.works or not any(other.works for other in items)


def _without_twins(
    items: list[StrategyAssessment], winner: str | None
) -> tuple[list[StrategyAssessment], list[tuple[StrategyAssessment, StrategyAssessment]]]:
    """Strategies whose figures differ; the simpler one of twins comes first in the assessment, and stays."""
    seen: dict[tuple[object, ...], StrategyAssessment] = {}
    distinct, same = [], []
    for item in items:
        twin = seen.setdefault(_figures(item), item)
        if twin is item or item.id == winner:
            distinct.append(item)
        else:
            same.append((item, twin))
    return distinct, same


def _figures(item: StrategyAssessment) -> tuple[object, ...]:
    """What a person would compare two strategies by, rounded so that the last digits of floats do not matter."""
    used = tuple(f"{budget.used.best:.6g}" if budget.used else "" for budget in item.budgets.values())
    times = tuple(f"{value.best:.6g}" if value else "" for value in (item.itl_s, item.ttft_s))
    return (item.outcome, item.bound_by, item.accuracy.high, used, times)


def verdict_words(item: StrategyAssessment, objective_s: float, winner: bool = False) -> str:
    """``FITS <- best``, ``NO HBM 2.0x``: the outcome, what binds, and how often the limit is needed."""
    word = humans.OUTCOME_WORDS[item.outcome]
    if winner:
        return f"{word} <- best"
    if item.bound_by is None:
        return word
    return f"{word} {humans.budget_in_short(item.bound_by)}{_factor(item, objective_s)}"


def excuse_of(assessment: Assessment, name: str) -> StrategyAssessment | None:
    """Why a combination was not even judged: the part of it that does not exist here."""
    parts = [item for item in assessment.strategies if item.id in name.split("+") and not item.budgets]
    return min(parts, key=lambda item: item.outcome, default=None)


def _factor(item: StrategyAssessment, objective_s: float) -> str:
    budget = item.budgets.get(item.bound_by or "")
    load = budget.load if budget else 0.0
    if item.bound_by == "itl" and item.itl_s is not None:
        load = item.itl_s.best / objective_s
    return f" {humans.times(load)}" if load > 1.0 else ""


def runs(item: StrategyAssessment) -> bool:
    """Whether it can run at all; else a time per token would be a fiction."""
    return item.itl_s is not None and item.bound_by not in ("context", "topology")


def ms_cell(item: StrategyAssessment) -> str:
    """The time per token; of a no the best value alone; ``-`` where it could not run."""
    if not runs(item):
        return humans.NOTHING
    words = humans.milliseconds(item.itl_s)
    return words.partition(" ")[0] if item.outcome == "no" else words


def users_cell(item: StrategyAssessment) -> str:
    """The most users that fit at the best estimate."""
    return humans.UNKNOWN if item.users_max is None else humans.count(item.users_max.best)


def compact_verdict(item: StrategyAssessment, objective_s: float) -> str:
    """The verdict in a cell of the matrix of hosts: ``FITS 19.4 ms``, ``NO HBM 3.2x``, ``N/A unified``."""
    if item.works:
        return f"{humans.OUTCOME_WORDS[item.outcome]} {humans.milliseconds(item.itl_s).partition(' ')[0]} ms"
    return verdict_words(item, objective_s)
