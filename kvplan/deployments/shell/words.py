"""Shell text -> words, by the shell's own rules for quotes, continuation lines, comments and variables."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvplan.deployments.argv import Word
from kvplan.deployments.shell.quotes import ShellText, _Current

_HEREDOC = re.compile(r"<<(-?)[ \t]*(\\?[\w.]+|'[^'\n]*'|\"[^\"\n]*\")")
_ENDS = "\n;|&)"
MOST_WORDS = 20_000
LONGEST_COMMAND = 16_384
"""Characters of one command; an unclosed quote ends here. Behind either cap stands a word that says so."""


class Heredoc(NamedTuple):
    """``<<EOF``: the text that follows the line up to ``EOF``."""

    delimiter: str
    literal: bool
    """Quoted: nothing in it is filled in."""
    tabs: bool
    """``<<-``: tabs before the end mark do not count."""


class ShellReader(ShellText):
    """Reads commands out of one text."""

    plain = False
    """Nothing but blanks and quotes is special: as systemd and Compose take words apart."""
    heredocs: list[Heredoc]
    targets: list[str]
    """Files that the last command writes to."""

    def command(self, start: int, *, inside_parentheses: bool = False, first: bool = False) -> list[Word]:
        """The words from ``start`` to the end of the command; inside parentheses newlines are blanks (an array).

        With ``first`` only the value of an assignment is read, which is not split at the blanks of its variables.
        """
        self.position, self._words, self._now, self.spans = start, [], _Current(), []
        self.heredocs, self.targets, self.unclosed, self._assigning = [], [], False, first
        self.grown = 0
        self._end = min(len(self.text), start + LONGEST_COMMAND)
        while self.position < self._end and len(self._words) < MOST_WORDS:
            character = self.text[self.position]
            if character in " \t\r" or (inside_parentheses and character == "\n"):
                if first:
                    break
                self._end_word()
                self.position += 1
            elif self.plain:
                self._part(character)
            elif character == "&" and self.text[self.position + 1 : self.position + 2] == ">":
                self.position += 1
            elif character in "<>":
                self._redirection()
            elif character in _ENDS:
                break
            elif character == "#" and not self._now.started:
                self.position = self._line_end()
                if not inside_parentheses:
                    break
            else:
                self._part(character)
        else:
            self._end_word()
            self._cut()
        self._end_word()
        return self._words

    def _cut(self) -> None:
        """Say that the rest of the command is not read, where a cap and not the text has ended it."""
        if self._end < len(self.text) or len(self._words) >= MOST_WORDS:
            many = f"{MOST_WORDS:,} words" if len(self._words) >= MOST_WORDS else f"{LONGEST_COMMAND:,} characters"
            place = self.place(min(self.position, len(self.text)))
            self._words.append(Word("--...", place, f"not read further: the command has more than {many}", cut=True))
            self.spans.append(None)

    def _redirection(self) -> None:
        if "".join(self._now.text).isdigit():
            self._now = _Current()
        self._end_word()
        heredoc = _HEREDOC.match(self.text, self.position, self._end)
        if heredoc is not None and self.text[self.position : self.position + 3] != "<<<":
            mark = heredoc[2]
            self.heredocs.append(
                Heredoc(mark.strip("\\'\""), not mark[0].isalnum() and mark[0] != "_", bool(heredoc[1]))
            )
            self.position = heredoc.end()
            return
        writes = self.text[self.position] == ">"
        while self.position < self._end and self.text[self.position] in "<>&|":
            self.position += 1
        while self.position < self._end and self.text[self.position] in " \t":
            self.position += 1
        start = self.position
        while self.position < self._end and self.text[self.position] not in " \t\r" + _ENDS:
            self.position += 1
        if writes:
            self.targets.append(self.text[start : self.position].strip("\"'"))

    def _line_end(self) -> int:
        end = self.text.find("\n", self.position)
        return self._end if end < 0 else end
