"""``kvplan fit`` as Markdown for a pull request or an issue: the verdict, GitHub tables, the command in a block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kvplan.domain.assessment import Assessment
from kvplan.render import humans
from kvplan.render.fit_actions import NOTHING_FITS, Note, run_it, what_fits
from kvplan.render.fit_columns import choices, worth_showing
from kvplan.render.fit_header import engine_in_short, header, host_words, load_words, model_words
from kvplan.render.fit_hosts import cell, host_sentence, matrix_sentence, refusals, row_names
from kvplan.render.fit_rows import screenful
from kvplan.render.fit_words import notes_before, warnings
from kvplan.results.fit import FitMatrix, FitResult

_SPECIAL = re.compile(r"([\\`*|\[\]]|<(?=[A-Za-z/!?]))")


def render(answer: FitResult | FitMatrix) -> str:
    """The whole document."""
    blocks = _matrix(answer) if isinstance(answer, FitMatrix) else _one(answer)
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str) -> str:
    """Text from outside, with nothing left that Markdown or HTML would obey."""
    return _SPECIAL.sub(r"\\\1", humans.clean(text))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """A GitHub table; cells are escaped already."""
    rule = ["---:" if aligned else ":---" for aligned in right]
    return "\n".join(f"| {' | '.join(row)} |" for row in (titles, rule, *rows))


def _one(answer: FitResult) -> list[str]:
    assessment = answer.assessment
    screen = screenful(assessment)
    asked = [(label, escaped(text)) for label, text in header(assessment)]
    columns = worth_showing(choices(assessment)[0], screen.rows)
    rows = [[_emphasized(column.of(item), item is screen.winner) for column in columns] for item in screen.rows]
    titles = [" ".join(column.title.split()) for column in columns]
    return [
        _emphasized(assessment.verdict.sentence, True),
        table(["", ""], asked, [False, False]),
        table(titles, rows, [column.right for column in columns]) if rows else "",
        _list(notes_before(answer, screen)),
        *_what_to_do(answer),
        _list(warnings(assessment)),
        f"Not modelled: {escaped('; '.join(assessment.not_modelled))}.",
    ]


def _what_to_do(answer: FitResult) -> list[str]:
    blocks = []
    remedies = what_fits(answer)
    if remedies is not None:
        lines = [f"- {escaped(change)}: {escaped(brings)}" for change, brings in remedies]
        blocks += ["What would make it fit:", "\n".join(lines or [NOTHING_FITS])]
    command = run_it(answer.assessment)
    if command is not None:
        blocks.append(escaped(command.label))
        blocks.append(code_block(command.text))
    return blocks


def code_block(command: str) -> str:
    """Fenced by more backticks than the command has."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}"


def _matrix(answer: FitMatrix) -> list[str]:
    assessments = [fit.assessment for fit in answer.fits]
    names = row_names(assessments)
    first = assessments[0].deployment
    asked = [("Model", escaped(model_words(first))), ("Load", escaped(load_words(first)))]
    hosted = [f"{host_words(one.deployment)}; {engine_in_short(one.deployment)}" for one in assessments]
    asked += [("Host", escaped(text)) for text in hosted]
    titles = ["strategy", *(escaped(one.deployment.host.name) for one in assessments)]
    rows = [[name, *(_matrix_cell(one, name) for one in assessments)] for name in names]
    hosts = [Note(f"{fit.assessment.deployment.host.name}:", host_sentence(fit)) for fit in answer.fits]
    hosts += [Note(f"{host}:", f"CANNOT JUDGE: {why}") for host, why in refusals(answer)]
    return [
        _emphasized(matrix_sentence(answer), True),
        table(["", ""], asked, [False, False]),
        table(titles, rows, [False] * len(titles)),
        _list(hosts),
        f"Not modelled: {escaped('; '.join(assessments[0].not_modelled))}.",
    ]


def _matrix_cell(assessment: Assessment, name: str) -> str:
    return _emphasized(cell(assessment, name).removesuffix(" *"), assessment.verdict.strategy == name)


def _emphasized(text: str, strong: bool) -> str:
    return f"**{escaped(text)}**" if strong else escaped(text)


def _list(notes: Sequence[Note]) -> str:
    return "\n".join(f"- **{escaped(label)}** {escaped(text)}" for label, text in notes)
