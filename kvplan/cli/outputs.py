"""Where results go: stdout in one format, and files in others."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from kvplan.cli.options import format_named
from kvplan.errors import InputError

Answer = TypeVar("Answer")
Renderers = Callable[[], Mapping[str, Callable[[Answer], str]]]
_BY_SUFFIX = {
    ".json": "json", ".md": "markdown", ".csv": "csv", ".txt": "table", ".sarif": "sarif", ".xml": "junit",
}  # fmt: skip


def write(answer: Answer, renderers: Renderers[Answer], format: str | None, output: list[str] | None) -> None:
    """Print the answer in ``--format`` (table by default), and write every ``--output [FORMAT=]FILE``.

    With ``--output`` and without ``--format`` nothing goes to stdout but the files' own formats to the files.
    """
    known = renderers()
    files = [_split(item, tuple(known)) for item in output or ()]
    for name, path in files:
        text = _without_colour(known[name], answer)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror}", where=str(path)) from None
    if format is not None or not files:
        print_text(known[format_named(format, tuple(known), "table")](answer))


def print_text(text: str) -> None:
    """Write to stdout. A reader that has gone away has read what it wanted: the exit code stays the answer's."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()
    except OSError as error:  # a full disk
        forget_stdout()
        raise InputError(f"cannot write the result: {error.strerror}") from None


def prepare_streams() -> None:
    """Let no stream fail for its form: what it can't encode becomes ``?``, and a closed one reads and writes nothing.

    Opened in the order of their numbers, so that no file of a command gets the number of a closed one.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # open for as long as the process
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def forget_stdout() -> None:
    """Let what is still to be written go nowhere, so that the interpreter's own flush at the end doesn't complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _without_colour(render: Callable[[Answer], str], answer: Answer) -> str:
    """A file has no use for the terminal's colour codes."""
    before = os.environ.get("NO_COLOR")
    os.environ["NO_COLOR"] = "1"
    try:
        return render(answer)
    finally:
        if before is None:
            del os.environ["NO_COLOR"]
        else:
            os.environ["NO_COLOR"] = before


def _split(item: str, known: tuple[str, ...]) -> tuple[str, Path]:
    """``json=plan.json`` or ``plan.json`` -> (format, path)."""
    name, separator, rest = item.partition("=")
    if separator and name.lower() in known:
        return name.lower(), Path(rest)
    guessed = _BY_SUFFIX.get(Path(item).suffix.lower())
    if guessed is None or guessed not in known:
        raise InputError(f"--output {item!r} does not say which format", help=f"FORMAT=FILE with {', '.join(known)}")
    return guessed, Path(item)
