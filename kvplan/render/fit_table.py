"""``kvplan fit`` on a screen: the answer, what was asked, the strategies, why not the others, what to do.

The picture adapts to the width: a wide screen has a column for each budget, a narrow one keeps HBM, users, time and
verdict, whose word names what binds. Everything is said in words; colour only repeats it.
"""

from __future__ import annotations

from kvplan.domain.assessment import Assessment
from kvplan.render import humans
from kvplan.render.fit_actions import NOTHING_FITS, Note, run_it, what_fits
from kvplan.render.fit_columns import choices, worth_showing
from kvplan.render.fit_header import header
from kvplan.render.fit_matrix import render_matrix
from kvplan.render.fit_rows import Screenful, screenful
from kvplan.render.fit_words import notes_before, warnings
from kvplan.render.screen import Column, Page, natural_columns
from kvplan.results.fit import FitMatrix, FitResult


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
        _table(page, assessment, screen)
        page.gap()
    _notes(page, notes_before(answer, screen))
    _what_to_do(page, answer)
    _end(page, assessment, screen)
    return page.text()


def _table(page: Page, assessment: Assessment, screen: Screenful) -> None:
    """The fullest set of columns that the screen can hold."""
    for chosen in choices(assessment):
        shown = worth_showing(chosen, screen.rows)
        columns = [Column(column.title, column.right) for column in shown]
        rows = [[column.of(item) for column in shown] for item in screen.rows]
        if natural_columns(columns, rows) <= page.columns:
            break
    page.table(columns, rows, next((index for index, item in enumerate(screen.rows) if item is screen.winner), -1))


def _notes(page: Page, notes: list[Note]) -> None:
    for note in notes:
        page.labelled(note.label, note.text)


def _what_to_do(page: Page, answer: FitResult) -> None:
    """The changes that would make it fit; the command to paste; what to know before."""
    remedies = what_fits(answer)
    if remedies is not None:
        page.gap()
        page.labelled("What would make it fit:", "" if remedies else NOTHING_FITS)
        page.pairs(remedies)
    command = run_it(answer.assessment)
    if command is not None:
        page.gap()
        page.command(command.label, command.text)
    notes = warnings(answer.assessment)
    if notes:
        page.gap()
        _notes(page, notes)


def _end(page: Page, assessment: Assessment, screen: Screenful) -> None:
    name = screen.winner.id if screen.winner else "hbm"
    page.gap()
    page.faint(f"Not modelled: {'; '.join(assessment.not_modelled)}.", 2)
    page.faint(f"More: kvplan explain {name}  |  {humans.more(screen.more)}all sources: --format json", 2)
