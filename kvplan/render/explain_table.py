"""``kvplan explain`` on a screen: formula, inputs with their ends, accuracy, evidence, each with its source."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.render import humans
from kvplan.render.listing_sheet import render as render_sheet
from kvplan.render.screen import Page
from kvplan.results.explain import Explanation
from kvplan.results.host_sheet import HostSheet
from kvplan.results.model_sheet import ModelSheet
from kvplan.strategies.interface import Accuracy, Input
from kvplan.units import to_gb_per_s, to_ms

LABEL_COLUMNS = 9


def render(answer: Explanation | ModelSheet | HostSheet) -> str:
    """The whole screen."""
    if not isinstance(answer, Explanation):
        return render_sheet(answer)
    page = Page()
    page.verdict(f"{answer.name} ({answer.kind}): {answer.title}.")
    page.gap()
    if answer.text:
        page.labelled("What", answer.text, LABEL_COLUMNS)
    if answer.unit:
        page.labelled("Unit", answer.unit, LABEL_COLUMNS)
    _lines(page, "Formula", answer.formula)
    for item in answer.inputs:
        page.labelled("Input", input_words(item), LABEL_COLUMNS)
    if answer.accuracy is not None:
        page.labelled("Accuracy", accuracy_words(answer.accuracy), LABEL_COLUMNS)
    _lines(page, "Evidence", answer.evidence)
    _lines(page, "Note", answer.notes)
    if answer.source:
        page.labelled("Source", answer.source, LABEL_COLUMNS)
    if answer.see:
        page.labelled("See", ", ".join(answer.see), LABEL_COLUMNS)
    return page.text()


def input_words(item: Input) -> str:
    """``hit fraction of the HBM cache: 0.87 (0.79..0.94); RetroInfer: 0.79 to 0.94 by task``."""
    value, unit = _in_its_unit(item.value, item.unit)
    return f"{item.name}: {humans.span(value)}{' ' + unit if unit else ''}; {item.source}"


def accuracy_words(loss: Accuracy) -> str:
    """``0.66 to 1.97 points lost, RULER at 128k; RetroInfer v3``."""
    if loss.low is None or loss.high is None:
        return f"not known: {loss.on}"
    if loss.high == 0.0:
        return f"{loss.on}: {loss.source}"
    return f"{loss.low:.3g} to {loss.high:.3g} points lost, {loss.on}; {loss.source}"


def _in_its_unit(value: Interval, unit: str) -> tuple[Interval, str]:
    """Seconds below one as milliseconds, bytes a second as GB/s."""
    if unit == "s" and value.high < 1.0:
        return value.map(to_ms), "ms"
    return (value.map(to_gb_per_s), "GB/s") if unit == "bytes/s" else (value, unit)


def _lines(page: Page, label: str, lines: tuple[str, ...]) -> None:
    for index, line in enumerate(lines):
        page.labelled("" if index else label, line, LABEL_COLUMNS)
