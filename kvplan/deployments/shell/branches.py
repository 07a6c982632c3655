"""``if``, ``case`` and loops of a script: which branch is being read, and what the file says of its condition."""

from __future__ import annotations

import re

from kvplan.deployments.argv import Word
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.state import ShellState
from kvplan.deployments.shell.tests import arithmetic_holds, both, case_holds, either, test_holds
from kvplan.deployments.shell.words import ShellReader

BLANK = re.compile(r"(?:[ \t\r]+|\\\r?\n)+")
KEYWORD = re.compile(r"(if|then|elif|else|fi|for|select|while|until|do|done|case|esac|\{|\}|!)(?=[\s;)&|]|$)")
_LOOP = re.compile(r"(?:for|select)[ \t]+([A-Za-z_]\w*)(?:[ \t]+in\b)?")
_CASE = re.compile(r"case[ \t]+(.{1,300}?)[ \t]+in(?=\s|$)")
_PATTERN = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?!esac\b)\(?((?:[^)\s][^)\n]{0,299})?)\)")
MOST_TESTS = 20
_CLOSED_BY = {"fi": "if", "done": "loop", "esac": "case"}


class Branches:
    """A place in a text, and the branches that are open there."""

    def __init__(self, reader: ShellReader, state: ShellState) -> None:
        self.reader, self.state, self.text = reader, state, reader.text
        self.position = 0
        self._open: list[tuple[str, Word | None]] = []

    def after(self, words: list[Word], start: int) -> None:
        """Take over where the reader has stopped."""
        self.position = self.reader.position

    def keyword(self, word: str) -> None:
        """A reserved word at the walker's place."""
        start = self.position
        self.position += len(word)
        if word == "if":
            holds = self._condition()
            self._open.append(("if", None))
            self.state.open(holds)
        elif word in ("elif", "else") and self.inside("if"):
            self.state.branch(self._condition() if word == "elif" else None, last=word == "else")
        elif word in ("while", "until"):
            self._open.append(("loop", None))
            self.state.open(None)
        elif word in ("for", "select"):
            self._loop(start)
        elif word == "case":
            self._case(start)
        elif word in _CLOSED_BY and self.inside(_CLOSED_BY[word]):
            self._open.pop()
            self.state.close()

    def inside(self, kind: str) -> bool:
        """Whether the innermost that is open is of this kind."""
        return bool(self._open) and self._open[-1][0] == kind

    def pattern(self) -> None:
        """``a|b)``: the next branch of a ``case``."""
        match = _PATTERN.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            patterns = match[1].strip()
            self.state.branch(case_holds(self._open[-1][1], patterns), last=patterns == "*")

    def _condition(self) -> bool | None:
        """How the tests behind ``if`` come out, those joined by ``&&`` and ``||`` from the left to the right."""
        position, joined = self.position, ""
        result: bool | None = None
        for _ in range(MOST_TESTS):
            blank = BLANK.match(self.text, position)
            outcome, position = self._test(blank.end() if blank else position)
            result = outcome if not joined else either(result, outcome) if joined == "||" else both(result, outcome)
            blank = BLANK.match(self.text, position)
            position = blank.end() if blank else position
            joined = self.text[position : position + 2]
            if joined not in ("&&", "||"):
                return None if joined[:1] == "|" else result
            position += 2
        return None

    def _test(self, start: int) -> tuple[bool | None, int]:
        """One test and where it ends."""
        if self.text.startswith("((", start):
            end = self.text.find("))", start, start + 1000)
            return arithmetic_holds(self.text, start, self.state.lookup), end + 2 if end >= 0 else start + 2
        words = self.reader.command(start)
        return test_holds(words), self.reader.position

    def _loop(self, start: int) -> None:
        loop = _LOOP.match(self.text, start)
        self._open.append(("loop", None))
        self.state.open(None)
        if loop is None:
            return
        words = self.reader.command(loop.end())
        self.after(words, start)
        one = words[0] if len(words) == 1 and not re.search(r"[*?{]", words[0].text) else None
        reason = one.unresolved if one else f"${loop[1]} varies in a loop or is read as input"
        optional = one is not None and one.optional
        value = Expansion(one.text if one else "", place=self.reader.place(start), reason=reason, optional=optional)
        self.state.assign(loop[1], value)

    def _case(self, start: int) -> None:
        case = _CASE.match(self.text, start)
        if case is None:
            return
        words = self.reader.command(case.start(1), first=True)
        self._open.append(("case", words[0] if words else None))
        self.state.open(False)
        self.position = case.end()
        self.pattern()
