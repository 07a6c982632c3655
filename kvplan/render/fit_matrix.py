"""``kvplan fit`` with several hosts: strategies down, hosts across, the best of each host marked.

The narrow picture decides the form: three hosts beside each other in 80 columns, whatever a cell has to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.domain.assessment import Assessment
from kvplan.render import humans
from kvplan.render.fit_header import engine_in_short, host_words, load_words, model_words
from kvplan.render.fit_hosts import cells, host_name, host_sentence, matrix_sentence, refusals, row_names
from kvplan.render.screen import Column, Page, natural_columns
from kvplan.results.fit import FitMatrix


def render_matrix(answer: FitMatrix) -> str:
    """One screen for all hosts."""
    page = Page()
    assessments = [fit.assessment for fit in answer.fits]
    page.verdict(matrix_sentence(answer))
    page.gap()
    _header(page, assessments)
    names = row_names(assessments)
    for block in blocks(assessments, names, page.columns):
        page.gap()
        page.table([Column("strategy"), *(Column(host_name(item)) for item in block)], cells(block, names))
    if any(one.verdict.strategy for one in assessments):
        page.faint("* the best of its host")
    page.gap()
    for fit in answer.fits:
        page.labelled(f"{host_name(fit.assessment)}:", host_sentence(fit))
    for host, why in refusals(answer):
        page.labelled(f"{host}:", f"CANNOT JUDGE: {why}")
    for text in dict.fromkeys(text for one in assessments for text in one.warnings):
        page.labelled("Warning:", f"{text}.")
    page.gap()
    _end(page, assessments, names)
    return page.text()


def blocks(assessments: Sequence[Assessment], names: Sequence[str], columns: int) -> list[Sequence[Assessment]]:
    """As many hosts beside each other as the width holds; the others below."""
    for each in range(len(assessments), 1, -1):
        found = [assessments[start : start + each] for start in range(0, len(assessments), each)]
        if all(_block_columns(block, names) <= columns for block in found):
            return found
    return [[one] for one in assessments]


def _block_columns(block: Sequence[Assessment], names: Sequence[str]) -> int:
    return natural_columns([Column("strategy"), *(Column(host_name(item)) for item in block)], cells(block, names))


def _header(page: Page, assessments: Sequence[Assessment]) -> None:
    first = assessments[0].deployment
    lines = [("Model", model_words(first)), ("Load", load_words(first))]
    for one in assessments:
        name, words = host_name(one), host_words(one.deployment)
        lines.append((name, f"{words.removeprefix(name + ': ')}; {engine_in_short(one.deployment)}"))
    for label, text in lines:
        page.labelled(label, text, max(len(label) for label, _ in lines) + 1)


def _end(page: Page, assessments: Sequence[Assessment], names: Sequence[str]) -> None:
    known = {item.id for one in assessments for item in one.strategies}
    more = humans.more(len(known) - len(names))
    page.faint(f"Not modelled: {'; '.join(assessments[0].not_modelled)}.", 2)
    page.faint(f"More: one --host at a time has the reasons  |  {more}all sources: --format json", 2)
