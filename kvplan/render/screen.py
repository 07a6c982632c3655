"""A page of text for a terminal: prose that wraps between words, tables that keep inside the width, commands to paste.

The only place that imports Rich, and only when a page is drawn. Markup is never parsed: what a file or a flag says
is printed as it is. Colour is never the only carrier of a meaning, and there is none where stdout is not a terminal.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import NamedTuple

from rich.box import ASCII2, SIMPLE_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kvplan.render.humans import clean

PIPE_COLUMNS = 100
FEWEST_COLUMNS = 60
MOST_COLUMNS = 160
GAP_COLUMNS = 2

_TOGETHER = re.compile(r"(?<=\d) (?=(?:GiB|GB/s|GB|KiB|ms|s|x|users?|tokens|points|of)\b)|(?<=[0-9a-z]) (?=x\d)")
_FLAG_WITH_VALUE = re.compile(r"(?<![\w-])(--[a-z-]+) (?=[\w.]*\d)")
"""Blanks where no line is broken: between a number and its unit, a flag and its value."""

_STYLES = {
    "FITS": "bold green", "TIGHT": "bold yellow", "UNLIKELY": "bold yellow", "NO": "bold red",
    "N/A": "dim", "UNKNOWN": "dim", "CANNOT": "bold yellow",
}  # fmt: skip


class Column(NamedTuple):
    """A column of a table."""

    title: str
    right: bool = False


def screen_columns() -> int:
    """COLUMNS, else the terminal's own width, else 100; between 60 and 160, where prose can still be read."""
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isascii() and given.isdigit() else 0
    if not columns and sys.stdout.isatty():
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return min(max(columns or PIPE_COLUMNS, FEWEST_COLUMNS), MOST_COLUMNS)


def wants_colour() -> bool:
    """NO_COLOR says no, FORCE_COLOR yes; else whether stdout is a terminal that understands colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    modern = os.name != "nt" or "WT_SESSION" in os.environ or "TERM" in os.environ
    return modern and sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def natural_columns(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> int:
    """How wide a table is when nothing is cut."""
    widths = [0] * len(columns)
    for row in ([column.title for column in columns], *rows):
        widths = [max(widest, *map(cell_len, cell.split("\n"))) for widest, cell in zip(widths, row, strict=True)]
    return sum(widths) + GAP_COLUMNS * (len(widths) - 1)


def verdict_text(text: str) -> Text:
    """Text whose first word is an outcome, in the outcome's colour."""
    found = Text(text)
    word = text.split(" ", 1)[0].rstrip(":,")
    if word in _STYLES:
        found.stylize(_STYLES[word], 0, len(word))
    return found


class Page:
    """Lines are added, and ``text`` gives them all."""

    def __init__(self) -> None:
        self.columns = screen_columns()
        colour = wants_colour()
        self._out = StringIO()
        self._console = Console(
            file=self._out,
            width=self.columns,
            color_system="standard" if colour else None,
            force_terminal=colour,
            no_color=not colour,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def gap(self) -> None:
        """An empty line, unless there is one."""
        if not self._out.getvalue().endswith("\n\n"):
            self._out.write("\n")

    def verdict(self, sentence: str) -> None:
        """The answer: the outcome in its colour, the sentence as it is."""
        first, *rest = wrapped(clean(sentence), self.columns)
        self._line(verdict_text(first))
        for line in rest:
            self._line(Text(line))

    def labelled(self, label: str, text: str, label_columns: int = 0) -> None:
        """A bold label and prose after it; continued lines are indented."""
        label = clean(label)
        label_columns = min(label_columns, self.columns // 3)
        start = f"{label:<{label_columns}}"
        first, *rest = wrapped(
            f"{start} {clean(text)}".rstrip(), self.columns, label_columns + 1 if label_columns else 2
        )
        line = Text(first)
        line.stylize("bold", 0, len(label))
        for part in (line, *map(Text, rest)):
            self._line(part)

    def faint(self, text: str, indent: int = 0) -> None:
        """Prose of less weight."""
        for line in wrapped(clean(text), self.columns, indent):
            self._line(Text(line, style="dim"))

    def command(self, label: str, command: str) -> None:
        """A command to paste: never wrapped by the screen, continued with a backslash before a flag."""
        self.labelled(label, "")
        self._console.print(Text("\n".join(continued(command, self.columns))), soft_wrap=True)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], best_row: int = -1) -> None:
        """A table without vertical lines; cells that begin with an outcome have its colour."""
        table = Table(
            box=SIMPLE_HEAD if _can_draw_lines() else ASCII2,
            show_edge=False, pad_edge=False, padding=(0, GAP_COLUMNS - 1, 0, 0), header_style="bold",
        )  # fmt: skip
        for column in columns:
            table.add_column(Text(column.title), justify="right" if column.right else "left", no_wrap=True)
        for index, row in enumerate(rows):
            table.add_row(
                *(verdict_text(clean_cell(cell)) for cell in row), style="bold" if index == best_row else None
            )
        self._console.print(table)

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Indented lines of two parts, aligned where that leaves half of the screen to the second one."""
        widest = max((cell_len(first) for first, _ in rows), default=0)
        aligned = widest if widest <= self.columns // 2 else 0
        for first, second in rows:
            blanks = " " * max(aligned - cell_len(first), 0)
            for line in wrapped(f"  {clean(first)}{blanks}  {clean(second)}", self.columns, aligned + 4):
                self._line(Text(line))

    def text(self) -> str:
        """The page, without blanks at line ends, in letters that stdout can print."""
        lines = [line.rstrip(" ") for line in self._out.getvalue().split("\n")]
        text = "\n".join(lines).rstrip("\n") + "\n"
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)

    def _line(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    """Lines of at most so many columns: broken at blanks, but not between a number and its unit."""
    lead = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], ""
    blanks = " " * min(indent, columns // 2)
    glued = _FLAG_WITH_VALUE.sub("\\1\N{NO-BREAK SPACE}", _TOGETHER.sub("\N{NO-BREAK SPACE}", text.lstrip(" ")))
    for word in glued.split(" "):
        if line.strip() and cell_len(f"{line} {word}") > columns:
            lines.append(line)
            line = blanks + word
        else:
            line = f"{line} {word}" if lines or line else lead + word
        while cell_len(line) > columns:
            head = chop_cells(line, columns)[0]
            lines.append(head)
            line = blanks + line[len(head) :]
    return [part.replace("\N{NO-BREAK SPACE}", " ") for part in [*lines, line]]


def clean_cell(cell: str) -> str:
    """A cell may have line breaks of its own, and no other control character."""
    return "\n".join(clean(line) for line in cell.split("\n"))


def _can_draw_lines() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "─".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def continued(command: str, columns: int) -> list[str]:
    """The command in lines that a shell joins again: broken only before a flag, and only where it is too long."""
    if cell_len(command) <= columns:
        return [command]
    lines: list[str] = []
    line = ""
    for piece in pieces(command):
        if line and cell_len(f"{line} {piece} \\") > columns:
            lines.append(line + " \\")
            line = "  " + piece
        else:
            line = f"{line} {piece}" if line else piece
    return [*lines, line]


def pieces(command: str) -> list[str]:
    """The program with its operands, then each flag with its value. Quoted blanks do not separate."""
    found: list[str] = []
    quote = ""
    for index, letter in enumerate(command):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == " " and command[index + 1 : index + 2] == "-":
            found.append("")
            continue
        if not found:
            found.append("")
        found[-1] += letter
    return found
