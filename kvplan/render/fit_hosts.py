"""Several hosts beside each other, in words: which strategies have a row, what a cell says, each host's own answer."""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.domain.assessment import OUTCOMES, Assessment
from kvplan.domain.remedy import Remedy
from kvplan.render import humans
from kvplan.render.fit_firmness import sensitivity_notes
from kvplan.render.fit_rows import compact_verdict, excuse_of, one_of_each_series, screenful
from kvplan.results.fit import FitMatrix, FitResult

MOST_ROWS = 12
ROWS_OF_A_HOST = 9
MOST_REMEDIES = 2


def host_name(assessment: Assessment) -> str:
    """The host as it was found, printable."""
    return humans.clean(assessment.deployment.host.name)


def matrix_sentence(answer: FitMatrix) -> str:
    """``FITS on 2 of 3 hosts: h100-server, m3-ultra; NO on rtx4090.``"""
    groups: dict[str, list[str]] = {}
    for fit in sorted(answer.fits, key=lambda fit: OUTCOMES.index(fit.assessment.verdict.outcome)):
        groups.setdefault(fit.assessment.verdict.outcome, []).append(host_name(fit.assessment))
    parts = [f"{humans.OUTCOME_WORDS[outcome]} on {', '.join(names)}" for outcome, names in groups.items()]
    parts += [f"{humans.OUTCOME_WORDS['unknown']} {humans.clean(one.host)}" for one in answer.refused]
    return f"{'; '.join(parts)}."


def refusals(answer: FitMatrix) -> list[tuple[str, str]]:
    """(host, why it can't be judged)."""
    reasons = (f"{one.message}; {one.help}" if one.help else one.message for one in answer.refused)
    return [(humans.clean(one.host), f"{why}.") for one, why in zip(answer.refused, reasons, strict=True)]


def host_sentence(fit: FitResult) -> str:
    """The verdict of one host, and what would turn a no into a yes."""
    firmness = [f"{note.label} {note.text}" for note in sensitivity_notes(fit.sensitivity)]
    sentence = " ".join([fit.assessment.verdict.sentence, *firmness])
    works = [remedy for remedy in fit.remedies if remedy.works][:MOST_REMEDIES]
    if not works or fit.assessment.verdict.strategy is not None:
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
    names = one_of_each_series(names, winners)
    kept = {*list(dict.fromkeys(["hbm", *winners, *names]))[:MOST_ROWS]}
    return [name for name in names if name in kept]


def cells(assessments: Sequence[Assessment], names: Sequence[str]) -> list[list[str]]:
    """Rows of the table, one for each strategy."""
    return [[name, *(cell(one, name) for one in assessments)] for name in names]


def cell(assessment: Assessment, name: str) -> str:
    """``FITS 16 ms *`` (the best of its host), ``NO HBM 3.2x``, ``N/A unified``."""
    item = next((item for item in assessment.strategies if item.id == name), None) or excuse_of(assessment, name)
    if item is None:
        return humans.NOTHING
    return compact_verdict(item, assessment.deployment.objectives.itl_s) + (" *" if _wins(assessment, name) else "")


def _wins(assessment: Assessment, name: str) -> bool:
    return assessment.verdict.strategy == name
