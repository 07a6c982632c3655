"""``kvplan explain`` on a screen: formula, inputs with their ends, accuracy, evidence, each with its source."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.render import humans
from kvplan.render.fit_firmness import break_even_words
from kvplan.render.listing_sheet import render as render_sheet
from kvplan.render.screen import Page
from kvplan.results.explain_methods import MethodSheet
from kvplan.results.explanation import Explanation
from kvplan.results.host_sheet import HostSheet
from kvplan.results.model_sheet import ModelSheet
from kvplan.strategies.interface import Accuracy, Input
from kvplan.units import to_gb_per_s, to_ms

LABEL_COLUMNS = 9
_HOW = "--method NAME takes one's constants; kvplan explain NAME says all of it"


def render(answer: Explanation | ModelSheet | HostSheet) -> str:
    """The whole screen."""
    if not isinstance(answer, Explanation):
        return render_sheet(answer)
    page = Page()
    page.verdict(f"{answer.name} ({answer.kind}): {answer.title}.")
    page.gap()
    for label, text in (("What", answer.text), ("Unit", answer.unit), ("Set-up", answer.setup)):
        _lines(page, label, (text,) if text else ())
    _lines(page, "Formula", answer.formula)
    for item in answer.inputs:
        page.labelled("Input", input_words(item), LABEL_COLUMNS)
    if answer.accuracy is not None:
        page.labelled("Accuracy", accuracy_words(answer.accuracy), LABEL_COLUMNS)
    _lines(page, "By task", tuple(f"{task}: {accuracy_words(loss)}" for task, loss in answer.by_task))
    _lines(page, "Evidence", answer.evidence)
    if answer.here:
        found = [] if answer.break_even is None else break_even_words(answer.break_even)
        _lines(page, "Here", (answer.here, *found))
    _lines(page, "Note", answer.notes)
    for label, text in (("Source", answer.source), ("See", ", ".join(answer.see))):
        _lines(page, label, (text,) if text else ())
    _methods(page, answer)
    return page.text()


def _methods(page: Page, answer: Explanation) -> None:
    """What ``--method`` chooses from, a paragraph each."""
    if answer.methods:
        page.gap()
        page.labelled("Methods", _HOW, LABEL_COLUMNS)
    for sheet in answer.methods:
        page.labelled(method_label(answer, sheet), method_words(sheet))


def method_label(answer: Explanation, sheet: MethodSheet) -> str:
    """``retroinfer (default):``; the strategy where two have a method of this name."""
    if answer.kind == "method":
        return f"{sheet.method.name} of {sheet.family}:"
    return f"{sheet.method.name} (default):" if sheet.default else f"{sheet.method.name}:"


def method_words(sheet: MethodSheet) -> str:
    """Its set-up, its uncertain constants, its accuracy, and who has it: a paragraph."""
    method = sheet.method
    constants = "; ".join(f"{item.name} {' '.join(_figure(item))}" for item in method.inputs)
    accuracy, notes = accuracy_words(method.accuracy), "; ".join(sheet.notes)
    return f"{method.setup}. Constants: {constants}. Accuracy: {accuracy}. {notes[:1].upper()}{notes[1:]}."


def _figure(item: Input) -> tuple[str, ...]:
    """The value and its unit."""
    value, unit = _in_its_unit(item.value, item.unit)
    return (humans.span(value), unit) if unit else (humans.span(value),)


def input_words(item: Input) -> str:
    """``hit fraction of the HBM cache: 0.87 (0.79..0.94); RetroInfer: 0.79 to 0.94 by task``."""
    return f"{item.name}: {' '.join(_figure(item))}; {item.source}"


def accuracy_words(loss: Accuracy) -> str:
    """``0.66 to 1.97 points lost, RULER at 128k; RetroInfer v3``."""
    if loss.low is None or loss.high is None:
        return f"not known: {loss.on}"
    if loss.high == 0.0:
        return f"{loss.on}: {loss.source}"
    span = f"{loss.low:.3g}" if loss.low == loss.high else f"{loss.low:.3g} to {loss.high:.3g}"
    return f"{span} points lost, {loss.on}; {loss.source}"


def _in_its_unit(value: Interval, unit: str) -> tuple[Interval, str]:
    """Seconds below one as milliseconds, bytes a second as GB/s."""
    if unit == "s" and value.high < 1.0:
        return value.map(to_ms), "ms"
    return (value.map(to_gb_per_s), "GB/s") if unit == "bytes/s" else (value, unit)


def _lines(page: Page, label: str, lines: tuple[str, ...]) -> None:
    for index, line in enumerate(lines):
        page.labelled("" if index else label, line, LABEL_COLUMNS)
