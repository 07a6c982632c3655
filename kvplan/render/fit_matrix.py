"""``kvplan fit`` with several hosts: strategies down, hosts across, the best of each host in the last row."""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.domain.assessment import OUTCOMES, Assessment
from kvplan.remedies import Remedy
from kvplan.render import humans
from kvplan.render.fit_header import engine_in_short, host_words, load_words, model_words
from kvplan.render.fit_rows import compact_verdict, screenful
from kvplan.render.screen import Column, Page, natural_columns
from kvplan.results.fit import FitMatrix, FitResult

MOST_ROWS = 12
ROWS_OF_A_HOST = 8
MOST_REMEDIES = 2


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
        page.table([Column("strategy"), *(Column(_host_name(item)) for item in block)], cells(block, names))
    page.gap()
    for fit in answer.fits:
        page.labelled(f"{_host_name(fit.assessment)}:", host_sentence(fit))
    page.gap()
    _end(page, assessments, names)
    return page.text()


def matrix_sentence(answer: FitMatrix) -> str:
    """``FITS on 2 of 3 hosts: h100-server, m3-ultra; NO on rtx4090.``"""
    groups: dict[str, list[str]] = {}
    for fit in sorted(answer.fits, key=lambda fit: OUTCOMES.index(fit.assessment.verdict.outcome)):
        groups.setdefault(fit.assessment.verdict.outcome, []).append(_host_name(fit.assessment))
    parts = [f"{humans.OUTCOME_WORDS[outcome]} on {', '.join(names)}" for outcome, names in groups.items()]
    return f"{'; '.join(parts)}."


def host_sentence(fit: FitResult) -> str:
    """The verdict of one host, and what would turn a no into a yes."""
    sentence = fit.assessment.verdict.sentence
    works = [remedy for remedy in fit.remedies if remedy.works][:MOST_REMEDIES]
    if not works:
        return sentence
    return f"{sentence} What would make it fit: {', or '.join(map(remedy_words, works))}."


def remedy_words(remedy: Remedy) -> str:
    """``--gpus 2 with kv-fp8 (12 users, 14.1 ms a token)``."""
    figures = f"{humans.users(remedy.users_max)}, {humans.ms_per_token(remedy.itl_s).partition(' (')[0]}"
    return f"{remedy.change} with {remedy.strategy} ({figures})"


def row_names(assessments: Sequence[Assessment]) -> list[str]:
    """Strategies that have figures on any host: what each host's own screen would show, plain ones first."""
    shown = [item.id for one in assessments for item in screenful(one, ROWS_OF_A_HOST).rows]
    winners = [one.verdict.strategy for one in assessments if one.verdict.strategy]
    wanted = {*shown, *winners}
    order = list(dict.fromkeys(item.id for one in assessments for item in one.strategies))
    names = sorted((name for name in order if name in wanted), key=lambda name: ("+" in name, order.index(name)))
    kept = {*list(dict.fromkeys(["hbm", *winners, *names]))[:MOST_ROWS]}
    return [name for name in names if name in kept]


def cells(assessments: Sequence[Assessment], names: Sequence[str]) -> list[list[str]]:
    """Rows of the table: one for each strategy, and the best of each host."""
    rows = [[name, *(cell(one, name) for one in assessments)] for name in names]
    best = [(one.verdict.strategy or "none").replace("+", "+\n") for one in assessments]
    return [*rows, ["best", *best]]


def cell(assessment: Assessment, name: str) -> str:
    """``FITS 16 ms``, ``NO HBM 3.2x``, ``N/A unified``; ``-`` where that host was not asked about it."""
    item = next((item for item in assessment.strategies if item.id == name), None)
    return humans.NOTHING if item is None else compact_verdict(item, assessment.deployment.objectives.itl_s)


def blocks(assessments: Sequence[Assessment], names: Sequence[str], columns: int) -> list[Sequence[Assessment]]:
    """As many hosts beside each other as the width holds; the others below."""
    for each in range(len(assessments), 1, -1):
        found = [assessments[start : start + each] for start in range(0, len(assessments), each)]
        if all(_block_columns(block, names) <= columns for block in found):
            return found
    return [[one] for one in assessments]


def _block_columns(block: Sequence[Assessment], names: Sequence[str]) -> int:
    return natural_columns([Column("strategy"), *(Column(_host_name(item)) for item in block)], cells(block, names))


def _header(page: Page, assessments: Sequence[Assessment]) -> None:
    first = assessments[0].deployment
    lines = [("Model", model_words(first)), ("Load", load_words(first))]
    lines += [("Host", f"{host_words(one.deployment)}; {engine_in_short(one.deployment)}") for one in assessments]
    for label, text in lines:
        page.labelled(label, text, 6)


def _host_name(assessment: Assessment) -> str:
    return humans.clean(assessment.deployment.host.name)


def _end(page: Page, assessments: Sequence[Assessment], names: Sequence[str]) -> None:
    known = {item.id for one in assessments for item in one.strategies}
    more = f"{len(known) - len(names)} more strategies, " if len(known) > len(names) else ""
    page.faint(f"Not modelled: {'; '.join(assessments[0].not_modelled)}.", 2)
    page.faint(f"More: each --host alone has the reasons  |  --format json ({more}every figure and its source)", 2)
