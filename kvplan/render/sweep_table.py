"""A sweep as a map of winners: contexts down, users across, one letter a point. Readable without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from kvplan.assess.verdict import budget_words
from kvplan.grid_search.search import Frontier, Point
from kvplan.render.screen import Page
from kvplan.results.sweep import SweepResult, sentence
from kvplan.units import to_ms

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = ("green", "cyan", "yellow", "magenta", "blue", "red")
NOTHING, TOO_LONG, NOT_JUDGED = ".", "-", "?"
MOST_ROWS = 40
"""Longer maps show an even choice of contexts: no answer is more than a screen."""


class MapPage(Page):
    """A page with lines whose parts have colours of their own."""

    def line(self, *parts: tuple[str, str]) -> None:
        """Text and style of every part."""
        self._line(Text.assemble(*parts))


def render(answer: SweepResult) -> str:
    """The answer in one sentence, what was judged, the map, and what its letters mean."""
    page, frontier = MapPage(), answer.frontier
    letters = letters_of(frontier)
    page.verdict(sentence(frontier))
    page.faint(_heading(frontier))
    page.gap()
    _draw_map(page, frontier, letters)
    page.gap()
    _draw_legend(page, frontier, letters)
    return page.text()


def letters_of(frontier: Frontier) -> dict[str, str]:
    """A letter for every strategy that wins anywhere, in the order in which strategies are listed."""
    winners = {point.strategy for _, _, point in frontier.each_point()}
    return dict(zip((name for name in frontier.strategies if name in winners), LETTERS, strict=False))


def _heading(frontier: Frontier) -> str:
    deployment = frontier.deployment
    host, objectives = deployment.host, deployment.objectives
    device = host.gpu.name if host.gpu else "CPU"
    if deployment.gpus_installed > 1:
        device = f"{deployment.layout.gpus} of {deployment.gpus_installed} {device}"
    goals = f"decode <= {to_ms(objectives.itl_s):g} ms a token"
    if objectives.ttft_s:
        goals += f", first token <= {objectives.ttft_s:g} s"
    engine = f"engine {deployment.engine.name} {deployment.engine.version}"
    return f"{deployment.model.name} on {host.name} ({device}), {engine}, {goals}"


def _draw_map(page: MapPage, frontier: Frontier, letters: dict[str, str]) -> None:
    """The rows; where they or the columns are too many, an even choice of them with both ends."""
    label = max(len("context"), *(len(f"{context:,}") for context in frontier.contexts)) + 1
    cell = max(len(f"{count:,}") for count in frontier.users) + 1
    columns = evenly(len(frontier.users), max(2, (page.columns - label) // cell))
    rows = evenly(len(frontier.contexts), MOST_ROWS)
    page.line(("context".rjust(label), "bold"), ("  users", "bold"))
    heads = "".join(f"{frontier.users[column]:,}".rjust(cell) for column in columns)
    page.line((" " * label, ""), (heads, "bold"))
    for row in rows:
        marks = [_mark(frontier.points[row][column], letters) for column in columns]
        page.line(
            (f"{frontier.contexts[row]:,}".rjust(label), "bold"),
            *((mark.rjust(cell), colour) for mark, colour in marks),
        )
    hidden = len(frontier.points) * len(frontier.users) - len(rows) * len(columns)
    if hidden:
        page.faint(f"{hidden:,} points between these are not shown: --format csv has them all")


def evenly(count: int, most: int) -> list[int]:
    """Indexes of at most so many of ``count`` items, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def _mark(point: Point, letters: dict[str, str]) -> tuple[str, str]:
    """What a point shows, and its style."""
    if point.strategy is not None:
        letter = letters[point.strategy]
        return (letter, f"bold {_colour(letter)}") if point.outcome == "fits" else (letter.lower(), _colour(letter))
    if point.outcome in ("unknown", "na"):
        return NOT_JUDGED, "dim"
    return (TOO_LONG if point.bound_by == "context" else NOTHING), "dim"


def _colour(letter: str) -> str:
    return COLOURS[LETTERS.index(letter) % len(COLOURS)]


def _draw_legend(page: MapPage, frontier: Frontier, letters: dict[str, str]) -> None:
    """What the letters and marks mean, for those that are on the map."""
    for line in _packed(letters, page.columns):
        page.line(*((f"{letter} {name}   ", _colour(letter)) for name, letter in line))
    shown = Counter(_mark(point, letters)[0] for _, _, point in frontier.each_point())
    if any(mark.islower() for mark in shown):
        page.faint("capital: fits; small: tight, not at the pessimistic end or with less than the margin left", 2)
    if shown[NOTHING]:
        page.faint(f"{NOTHING} nothing fits: {_what_binds(frontier)}", 2)
    if shown[TOO_LONG]:
        limit = frontier.deployment.model.max_context_tokens
        page.faint(f"{TOO_LONG} beyond the {limit:,} tokens that the model takes", 2)
    if shown[NOT_JUDGED]:
        page.faint(f"{NOT_JUDGED} cannot be judged: kvplan fit names what is missing", 2)


def _packed(letters: dict[str, str], columns: int) -> Iterator[list[tuple[str, str]]]:
    """The legend's entries, as many in a line as the width takes."""
    line: list[tuple[str, str]] = []
    used = 0
    for name, letter in letters.items():
        if line and used + len(name) + 5 > columns:
            yield line
            line, used = [], 0
        line.append((name, letter))
        used += len(name) + 5
    if line:
        yield line


def _what_binds(frontier: Frontier) -> str:
    """``HBM binds the closest strategy at 20 points, the CPU-GPU link at 3``."""
    points = [point for _, _, point in frontier.each_point() if point.strategy is None]
    bound = Counter(point.bound_by for point in points if point.bound_by not in (None, "context"))
    (first, count), *others = bound.most_common()
    told = [f"{budget_words(first)} binds the closest strategy at {count:,} point" + ("" if count == 1 else "s")]
    return ", ".join([*told, *(f"{budget_words(name)} at {more:,}" for name, more in others)])
