"""Wrapping, commands, widths and colours."""

from __future__ import annotations

import io
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kvplan.render.screen import Column, Page, continued, screen_columns, wants_colour, wrapped

words = st.text(st.sampled_from("ab1 -[]\N{CJK UNIFIED IDEOGRAPH-6A21}"), max_size=300)


@given(words, st.integers(20, 90), st.integers(0, 60))
def test_wrapped_lines_are_never_too_wide_and_lose_nothing(text: str, columns: int, indent: int) -> None:
    lines = wrapped(text, columns, indent)
    assert all(cell_len(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_number_keeps_its_unit() -> None:
    assert wrapped("aaaa 2,048 GiB", 11) == ["aaaa", "2,048 GiB"]
    assert wrapped("aaaa --context 96k", 16) == ["aaaa", "--context 96k"]


def test_commands_break_before_flags_only() -> None:
    command = 'vllm serve some/model --max-model-len 131072 --override \'{"a b": 1, "c": -1}\' -tp 8'
    lines = continued(command, 40)
    assert len(lines) > 1
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert all(line.startswith("  -") for line in lines[1:])
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)
    assert continued(command, 400) == [command]


def test_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen_columns() == 100, "no terminal"
    for given_columns, columns in (("120", 120), ("20", 60), ("9999", 160), ("wide", 100), ("", 100), ("-5", 100)):
        monkeypatch.setenv("COLUMNS", given_columns)
        assert screen_columns() == columns


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not wants_colour(), "a pipe"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert wants_colour()
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour()


def test_a_page_says_everything_in_letters_that_stdout_has(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    page = Page()
    page.verdict("FITS with \N{GREEK SMALL LETTER MU}")
    page.table([Column("a"), Column("b", right=True)], [["x", "1"], ["y", "NO HBM"]])
    text = page.text()
    text.encode("ascii")
    assert "FITS with ?" in text
    assert "NO HBM" in text


def test_markup_is_not_parsed() -> None:
    page = Page()
    page.verdict("[red]x[/]")
    page.labelled("[bold]", ":smile: [/]")
    page.table([Column("[b]")], [["[red]x[/]"]])
    page.command("[i]", "run [/] x")
    found = page.text().split()
    assert found[:5] == ["[red]x[/]", "[bold]", ":smile:", "[/]", "[b]"]
    assert found[6:] == ["[red]x[/]", "[i]", "run", "[/]", "x"]


def test_gaps_do_not_add_up() -> None:
    page = Page()
    page.verdict("NO")
    page.gap()
    page.gap()
    page.verdict("x")
    assert page.text() == "NO\n\nx\n"
