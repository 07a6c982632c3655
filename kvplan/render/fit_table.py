"""``kvplan fit`` on a screen: the answer, what was asked, the strategies, why not the others, what to do.

The picture adapts to the width: a wide screen has a column for each budget, a narrow one keeps HBM, users, time and
verdict, whose word names what binds. Everything is said in words; colour only repeats it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.render import humans
from kvplan.render.fit_header import header
from kvplan.render.fit_matrix import render_matrix
from kvplan.render.fit_rows import Screenful, ms_cell, screenful, users_cell, verdict_words
from kvplan.render.fit_words import Note, cautions, left_out, questions, remedy_lines, run_it, why_tight
from kvplan.render.screen import Column, Page, natural_columns
from kvplan.results.fit import FitMatrix, FitResult


class Cells(NamedTuple):
    """One column of the strategy table: its title and what it says of a strategy."""

    title: str
    of: Callable[[StrategyAssessment], str]
    right: bool = True


def render(answer: FitResult | FitMatrix) -> str:
    """The whole screen."""
    return render_matrix(answer) if isinstance(answer, FitMatrix) else render_one(answer)


def render_one(answer: FitResult) -> str:
    """One host."""
    assessment, page = answer.assessment, Page()
    screen = screenful(assessment)
    page.verdict(assessment.verdict.sentence)
    page.gap()
    lines = header(assessment)
    for label, text in lines:
        page.labelled(label, text, max(len(label) for label, _ in lines) + 1)
    page.gap()
    if screen.rows:
        _table(page, assessment, screen.rows)
        page.gap()
    _notes(page, [*why_tight(assessment), *questions(assessment), *left_out(assessment, screen)])
    _what_to_do(page, answer)
    _end(page, assessment, screen)
    return page.text()


def _table(page: Page, assessment: Assessment, items: tuple[StrategyAssessment, ...]) -> None:
    winner = assessment.verdict.strategy
    for cells in choices(assessment):
        shown = [column for column in cells if column.title in _ALWAYS or _says_something(column, items)]
        columns = [Column(column.title, column.right) for column in shown]
        rows = [[column.of(item) for column in shown] for item in items]
        if natural_columns(columns, rows) <= page.columns:
            break
    best = next((index for index, item in enumerate(items) if item.id == winner), -1)
    page.table(columns, rows, best)


_ALWAYS = {"strategy", "HBM GiB", "users", "verdict"}


def _says_something(column: Cells, items: tuple[StrategyAssessment, ...]) -> bool:
    """A column where every cell is nought or unknown is left out."""
    return any(cell not in (humans.NOTHING, "0") and not cell.startswith("0/") for cell in map(column.of, items))


def choices(assessment: Assessment) -> list[list[Cells]]:
    """Sets of columns, the fullest first: the screen takes the first one that it can hold."""
    objective_s, winner = assessment.deployment.objectives.itl_s, assessment.verdict.strategy
    strategy = Cells("strategy", lambda item: item.id, right=False)
    token = Cells("KV/token", lambda item: humans.bytes_per_token(item.kv_bytes_per_token))
    hbm, dram, link, cores = (
        Cells(title, lambda item, name=name: humans.used_of_limit(item.budgets.get(name)))  # type: ignore[misc]
        for title, name in (
            ("HBM GiB", "hbm"),
            ("DRAM GiB", "dram_capacity"),
            ("link GB/s", "link"),
            ("cores", "cpu_cores"),
        )
    )
    users = Cells("users", users_cell)
    span = Cells("ms/token", ms_cell)
    best = Cells("ms/token", lambda item: ms_cell(item).partition(" ")[0])
    loss = Cells("loss", lambda item: humans.loss(item.accuracy))
    verdict = Cells("verdict", lambda item: verdict_words(item, objective_s, item.id == winner), right=False)
    return [
        [strategy, token, hbm, dram, link, cores, users, span, loss, verdict],
        [strategy, hbm, dram, link, cores, users, span, loss, verdict],
        [strategy, hbm, dram, link, cores, users, span, verdict],
        [strategy, hbm, dram, link, cores, users, best, verdict],
        [strategy, hbm, link, users, span, verdict],
        [strategy, hbm, users, span, verdict],
        [strategy, hbm, users, best, verdict],
        [strategy, users, best, verdict],
    ]


def _notes(page: Page, notes: list[Note]) -> None:
    for note in notes:
        page.labelled(note.label, note.text)


def _what_to_do(page: Page, answer: FitResult) -> None:
    """The command to paste, or the changes that would make it fit."""
    command = run_it(answer.assessment)
    if answer.remedies:
        page.gap()
        page.labelled("What would make it fit:", "")
        page.grid(remedy_lines(answer.remedies))
    if command is not None:
        page.gap()
        page.command(command.label, command.text)
    notes = cautions(answer.assessment)
    if notes:
        page.gap()
        _notes(page, notes)


def _end(page: Page, assessment: Assessment, screen: Screenful) -> None:
    more = f"{screen.more} more strategies, " if screen.more else ""
    name = assessment.verdict.strategy or (screen.rows[0].id if screen.rows else "hbm")
    page.gap()
    page.faint(f"Not modelled: {'; '.join(assessment.not_modelled)}.", 2)
    page.faint(f"More: kvplan explain {name}  |  --format json ({more}every figure and its source)", 2)
