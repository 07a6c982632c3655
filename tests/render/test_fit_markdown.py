"""Markdown for a pull request."""

from __future__ import annotations

import re

import pytest

from kvplan.render.fit_actions import run_it
from kvplan.render.fit_markdown import code_block, escaped, render
from tests.golden_kit import check_golden
from tests.render.answers import ANSWERS, long_context


@pytest.mark.parametrize("name", ANSWERS)
def test_golden(name: str) -> None:
    check_golden(f"fit-{name}.md", render(ANSWERS[name]()))


@pytest.mark.parametrize("name", ANSWERS)
def test_tables_are_rectangular(name: str) -> None:
    for block in render(ANSWERS[name]()).split("\n\n"):
        if block.startswith("|"):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1


def test_the_command_is_whole_and_in_a_block() -> None:
    command = run_it(long_context().assessment)
    assert command is not None
    assert f"```sh\n{command.text}\n```" in render(long_context())


def test_names_are_text() -> None:
    assert escaped("[red]x[/]|<b>`a`*") == r"\[red\]x\[/\]\|\<b>\`a\`\*"
    assert escaped("FITS <- best 36..61") == "FITS <- best 36..61"
    assert code_block("echo ```x```").startswith("````sh\n")
