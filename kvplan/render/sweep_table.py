"""A sweep as a map of winners: contexts down, users across, one letter a point. Readable without colour."""

from __future__ import annotations

import io
import sys
from collections import Counter

from rich.console import Console
from rich.text import Text

from kvplan.assess.verdict import budget_words
from kvplan.grid_search.search import Frontier, Point
from kvplan.results.sweep import SweepResult, sentence
from kvplan.units import to_ms

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = ("green", "cyan", "yellow", "magenta", "blue", "bright_red", "bright_green", "bright_cyan")
NOTHING, TOO_LONG, NOT_JUDGED = ".", "-", "?"
MOST_ROWS = 40


def render(answer: SweepResult, columns: int | None = None) -> str:
    """The map at the terminal's width, or at a given one."""
    screen = Console(file=io.StringIO(), width=columns, force_terminal=sys.stdout.isatty() or None, highlight=False)
    frontier = answer.frontier
    letters = _letters(frontier)
    screen.print(Text(sentence(frontier), "bold"))
    screen.print(Text(_heading(frontier)))
    screen.print()
    for line in _map(frontier, letters, screen.width):
        screen.print(line, no_wrap=True, crop=False)
    screen.print()
    for line in _legend(frontier, letters):
        screen.print(line)
    printed = screen.file
    assert isinstance(printed, io.StringIO)
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()) + "\n"


def _letters(frontier: Frontier) -> dict[str, str]:
    """A letter for every strategy that wins anywhere, in the order in which strategies are listed."""
    winners = {point.strategy for _, _, point in frontier.each_point()}
    return dict(zip((name for name in frontier.strategies if name in winners), LETTERS, strict=False))


def _heading(frontier: Frontier) -> str:
    deployment = frontier.deployment
    host, gpus = deployment.host, deployment.layout.gpus
    device = host.gpu.name if host.gpu else "CPU"
    count = f"{gpus} of {deployment.gpus_installed} " if deployment.gpus_installed > 1 else ""
    objective = f"decode <= {to_ms(deployment.objectives.itl_s):g} ms a token"
    if deployment.objectives.ttft_s:
        objective += f", first token <= {deployment.objectives.ttft_s:g} s"
    engine = f"{deployment.engine.name} {deployment.engine.version}"
    return f"{deployment.model.name} on {host.name} ({count}{device})  {engine}  {objective}"


def _map(frontier: Frontier, letters: dict[str, str], width: int) -> list[Text]:
    """The rows; where they or the columns are too many, an even choice of them with both ends."""
    label = max(len("context"), *(len(f"{context:,}") for context in frontier.contexts)) + 1
    cell = max(len(f"{count:,}") for count in frontier.users) + 1
    shown = _evenly(len(frontier.users), max(2, (width - label) // cell))
    lines = [Text("context".rjust(label)), Text(" " * label)]
    lines[0].append("users".rjust(cell) if cell > len("users") else "  users")
    lines[1].append("".join(f"{frontier.users[column]:,}".rjust(cell) for column in shown))
    for row in _evenly(len(frontier.contexts), MOST_ROWS):
        line = Text(f"{frontier.contexts[row]:,}".rjust(label))
        for column in shown:
            mark, colour = _mark(frontier.points[row][column], letters)
            line.append(" " * (cell - 1)).append(mark, colour)
        lines.append(line)
    return lines


def _evenly(count: int, most: int) -> list[int]:
    """Indexes of at most so many of ``count`` items, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def _mark(point: Point, letters: dict[str, str]) -> tuple[str, str]:
    if point.strategy is not None:
        letter = letters[point.strategy]
        colour = COLOURS[LETTERS.index(letter) % len(COLOURS)]
        return (letter, f"bold {colour}") if point.outcome == "fits" else (letter.lower(), colour)
    if point.outcome in ("unknown", "na"):
        return NOT_JUDGED, "dim"
    return (TOO_LONG if point.bound_by == "context" else NOTHING), "dim"


def _legend(frontier: Frontier, letters: dict[str, str]) -> list[Text]:
    """What the letters and marks mean, for those that are on the map."""
    lines = []
    if letters:
        names = Text(" ")
        for name, letter in letters.items():
            names.append(letter, f"bold {COLOURS[LETTERS.index(letter) % len(COLOURS)]}").append(f" {name}   ")
        lines += [names, Text(" capital: fits   small: tight (not at the pessimistic end, or the margin is not left)")]
    points = [point for _, _, point in frontier.each_point()]
    bound = Counter(point.bound_by for point in points if _mark(point, letters)[0] == NOTHING)
    if bound:
        reasons = ", ".join(f"{budget_words(name)} at {count:,}" for name, count in bound.most_common())
        lines.append(Text(f" {NOTHING} nothing fits; what binds the closest strategy: {reasons} points"))
    if any(point.bound_by == "context" for point in points):
        lines.append(Text(f" {TOO_LONG} beyond the {frontier.deployment.model.max_context_tokens:,} tokens of the model"))
    if any(point.outcome in ("unknown", "na") for point in points):
        lines.append(Text(f" {NOT_JUDGED} cannot be judged: kvplan fit says what is missing"))
    return lines
