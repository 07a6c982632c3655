"""A shell script from top to bottom: its simple commands, each with the variables that hold there.

Branches are all read, functions where they are called, and files that are sourced where they are inside the tree.
Nothing is executed; reading is bounded by a budget of characters for the script with all that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kvplan.deployments.argv import Word
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.branches import BLANK, KEYWORD, Branches
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.state import ShellState
from kvplan.deployments.shell.tests import arithmetic_holds, test_holds
from kvplan.deployments.shell.words import Heredoc, ShellReader

_FUNCTION = re.compile(r"(?:function[ \t]+([\w:.-]+)[ \t]*(?:\(\))?|([\w:.-]+)[ \t]*\([ \t]*\))\s*\{")
MOST_DEPTH = 8
MOST_RECOVERIES = 50
"""Quotes that nobody closes: so many times reading goes on at the next line, then behind the longest command."""


@dataclass(slots=True)
class Statement:
    """One simple command where it is read."""

    words: list[Word]
    reader: ShellReader
    state: ShellState
    assigned: dict[str, Expansion]
    """``NAME=value`` before the command: its environment."""
    start: int
    background: bool = False
    spans: list[tuple[int, int] | None] = field(default_factory=list)
    source: Source | None = None
    variable: str = ""
    """The variable that keeps the words, of a command that is not run here."""


@dataclass(slots=True)
class Shared:
    """What a script and everything that it calls have in common."""

    simple: Callable[[Walker], None]
    """Reads one simple command."""
    take: Callable[[Statement, Walker], None]
    """Called with every simple command."""
    kept: Callable[[Statement, Walker], None]
    """Called with every array or text that a variable keeps: it may be a command."""
    document: Callable[[Heredoc, Walker, int, int, list[str]], None]
    """Called with every text that a command is given, its place, and the words of its line."""
    budget: int
    source: Source | None = None
    functions: dict[str, tuple[Walker, int]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    depth: int = 0
    exhausted: bool = False


class Walker(Branches):
    """Reads one text."""

    def __init__(self, reader: ShellReader, state: ShellState, shared: Shared) -> None:
        super().__init__(reader, state)
        self.shared = shared
        self._heredocs: list[Heredoc] = []
        self._line: list[str] = []
        self._chain = ""
        self._tested: bool | None = None
        self._was_test = False
        self._recoveries = 0
        self._endless: set[str] = set()

    def walk(self, start: int = 0, *, body: bool = False, dry: bool = False) -> None:
        """Every command from ``start`` on; of a function's body up to its brace; ``dry`` only finds that brace."""
        self.position, braces = start, 0
        while self.position < len(self.text) and not self.shared.exhausted:
            begin = self.position
            if self._passed_over():
                self._spend(begin)
                continue
            keyword = KEYWORD.match(self.text, self.position)
            word = keyword[1] if keyword is not None else ""
            braces += (word == "{") - (word == "}")
            if body and braces < 0:
                self.position += 1
                return
            if dry:
                self._skim(word)
            elif word:
                self.keyword(word)
            elif not self._function():
                self.shared.simple(self)
            self.position = max(self.position, begin + 1)
            self._spend(begin)

    def call(self, name: str, arguments: tuple[Word, ...] | None) -> None:
        """Read the body of a function."""
        shared = self.shared
        if shared.depth >= MOST_DEPTH:
            return
        shared.called.add(name)
        owner, start = shared.functions[name]
        shared.depth += 1
        self.state.enter(arguments)
        Walker(owner.reader, self.state, shared).walk(start, body=True)
        self.state.leave()
        shared.depth -= 1

    def after(self, words: list[Word], start: int) -> None:
        """Take over where the reader has stopped; an unclosed quote costs its own line only."""
        self.position = self.reader.position
        self.shared.budget -= self.reader.grown
        self._heredocs += self.reader.heredocs
        self._line += [word.text for word in words[:1]] + self.reader.targets
        if self.reader.unclosed and self._recoveries < MOST_RECOVERIES:
            self._recoveries += 1
            end = self.text.find("\n", start)
            self.position = len(self.text) if end < 0 else end

    def holds(self) -> bool | None:
        """Whether what stands behind ``&&`` or ``||`` runs: as the test before it came out."""
        if not self._chain or (self._chain == "&&" and not self._was_test):
            return True
        return self._tested if self._chain == "&&" or self._tested is None else not self._tested

    def tested(self, words: list[Word]) -> None:
        """Remember how a command that may be a test came out."""
        self._was_test = bool(words) and words[0].text in ("[", "[[", "test", "!")
        self._tested = test_holds(words) if self._was_test else None

    def _spend(self, begin: int) -> None:
        self.shared.budget -= self.position - begin
        self.shared.exhausted = self.shared.exhausted or self.shared.budget < 0

    def _passed_over(self) -> bool:
        """Blanks, separators, comments, line ends with the texts that follow them."""
        text, at = self.text, self.position
        blank = BLANK.match(text, at)
        if blank:
            self.position = blank.end()
        elif text[at] in ";&|)":
            self._separator(at)
        elif text[at] == "#":
            end = text.find("\n", at)
            self.position = len(text) if end < 0 else end
        elif text[at] == "\n":
            self._chain = self._chain if self._chain and text[at - 1] in "&|" else ""
            self.position += 1
            self._texts()
            self._line = []
        elif text[at] == "(":
            self._parenthesis(at)
        else:
            return False
        return True

    def _separator(self, at: int) -> None:
        if self.text.startswith(";;", at) and self.inside("case"):
            self.position += 3 if self.text.startswith(";;&", at) else 2
            self.pattern()
            return
        two = self.text[at : at + 2]
        self._chain = two if two in ("&&", "||") else ""
        self.position += 2 if self._chain else 1

    def _parenthesis(self, at: int) -> None:
        """A subshell, or a condition in numbers."""
        self.position += 1
        if self.text.startswith("((", at):
            self._was_test, self._tested = True, arithmetic_holds(self.text, at, self.state.lookup)
            end = self.text.find("))", at, at + 1000)
            self.position = end + 2 if end >= 0 else at + 2

    def _texts(self) -> None:
        """The bodies of ``<<EOF``, which begin here. One whose end there is not is not looked for again."""
        pending, self._heredocs = self._heredocs, []
        for heredoc in pending:
            if heredoc.delimiter in self._endless or len(self._endless) > MOST_RECOVERIES:
                continue
            mark = ("\t*" if heredoc.tabs else "") + re.escape(heredoc.delimiter)
            end = re.compile(rf"^{mark}[ \t\r]*$", re.MULTILINE).search(self.text, self.position)
            if end is None:
                self._endless.add(heredoc.delimiter)
                continue
            self.shared.document(heredoc, self, self.position, end.start(), self._line)
            self.position = min(len(self.text), end.end() + 1)

    def _skim(self, word: str) -> None:
        start = self.position
        if word:
            self.position += len(word)
        else:
            words = self.reader.command(start)
            self.after(words, start)

    def _function(self) -> bool:
        match = _FUNCTION.match(self.text, self.position)
        if match is None:
            return False
        name = match[1] or match[2]
        skimmer = Walker(self.reader, self.state, self.shared)
        skimmer.walk(match.end(), body=True, dry=True)
        self.shared.functions[name] = (self, match.end())
        self.position = skimmer.position
        return True
