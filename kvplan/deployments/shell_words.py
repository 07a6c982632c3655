"""Shell text -> words, by the shell's own rules for quotes, continuation lines, comments and variables.

Nothing is executed. A variable becomes text only where the file assigns it literally or gives a literal default;
any other expansion leaves a word that says why it is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.shell_expansions import NAME, Expansion, Lookup, braced

_FLAG_OR_NOTHING = re.compile(r"^(?:--?[\w-]+=)?$")
_ENDS = "\n;|&)"
MOST_WORDS = 20_000
LONGEST_COMMAND = 16_384
"""Characters of one command; an unclosed quote ends here. Behind either cap stands a word that says so."""
MOST_DEPTH = 8


@dataclass(slots=True)
class _Current:
    """The word that is being read."""

    text: list[str] = field(default_factory=list)
    place: Place | None = None
    started: bool = False
    whole: Place | None = None
    """The place of the one variable that the word, or a flag's value, consists of so far."""
    reason: str | None = None
    optional: bool = False


class ShellReader:
    """Reads commands out of one text. ``first_line`` is the line of its first character."""

    def __init__(self, text: str, path: str, first_line: int, lookup: Lookup, depth: int = 0) -> None:
        self.text, self.path, self.first_line, self.lookup, self.depth = text, path, first_line, lookup, depth
        self._end = len(text)
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self.position = 0
        self._words: list[Word] = []
        self._now = _Current()

    def place(self, position: int) -> Place:
        """The line of a character."""
        return Place(self.path, self.first_line + bisect_right(self._newlines, position - 1))

    def command(self, start: int, *, inside_parentheses: bool = False) -> list[Word]:
        """The words from ``start`` to the end of the command; inside parentheses newlines are blanks (an array)."""
        self.position, self._words, self._now = start, [], _Current()
        self._end = min(len(self.text), start + LONGEST_COMMAND)
        while self.position < self._end and len(self._words) < MOST_WORDS:
            character = self.text[self.position]
            if character in " \t\r" or (inside_parentheses and character == "\n"):
                self._end_word()
                self.position += 1
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

    def _part(self, character: str) -> None:
        if character == "\\":
            self._backslash()
        elif character == "'":
            self._single_quotes()
        elif character == '"':
            self._double_quotes()
        elif character == "`":
            self._skip_to("`", self.position + 1)
            self._unknown("`...` is never executed")
        elif character == "$":
            self._dollar(quoted=False)
        else:
            self._add(character)
            self.position += 1

    def _add(self, text: str) -> None:
        now = self._now
        if not now.started:
            now.started, now.place = True, self.place(self.position)
        now.text.append(text)
        now.whole = None

    def _unknown(self, reason: str, *, text: str = "$(...)", optional: bool = False) -> None:
        first = not any(self._now.text)
        self._add(text)
        self._now.reason = self._now.reason or reason
        self._now.optional = optional and first

    def _end_word(self) -> None:
        now, self._now = self._now, _Current()
        if now.started:
            place = now.whole or now.place or self.place(self.position)
            self._words.append(Word("".join(now.text), place, now.reason, now.optional))

    def _backslash(self) -> None:
        after = self.text[self.position + 1 : self.position + 3]
        if after.startswith("\n"):
            self.position += 2
        elif after == "\r\n":
            self.position += 3
        else:
            self._add(after[:1])
            self.position += 2

    def _single_quotes(self) -> None:
        end = self.text.find("'", self.position + 1, self._end)
        end = self._end if end < 0 else end
        self._add(self.text[self.position + 1 : end])
        self.position = end + 1

    def _double_quotes(self) -> None:
        if not self._now.started:
            self._now.started, self._now.place = True, self.place(self.position)
        self.position += 1
        while self.position < self._end and self.text[self.position] != '"':
            character = self.text[self.position]
            following = self.text[self.position + 1 : self.position + 2]
            if character == "\\" and following and following in '"\\$`\n':
                if following != "\n":
                    self._add(following)
                self.position += 2
            elif character == "$":
                self._dollar(quoted=True)
            elif character == "`":
                self._skip_to("`", self.position + 1)
                self._unknown("`...` is never executed")
            else:
                self._add(character)
                self.position += 1
        self.position += 1

    def _dollar(self, *, quoted: bool) -> None:
        start = self.position
        following = self.text[start + 1 : start + 2]
        if following == "(":
            self._skip_balanced("(", ")")
            self._unknown("a command or arithmetic expansion is never executed", text=self.text[start : self.position])
        elif following == "{":
            self._skip_balanced("{", "}")
            known = self._braced(self.text[start + 2 : self.position - 1])
            self._expand(known, self.text[start : self.position], quoted)
        elif following == "'" and not quoted:
            self.position += 1
            self._single_quotes()
        else:
            match = NAME.match(self.text, start + 1)
            self.position = match.end() if match else start + 1
            if match is None:
                self._add("$")
            else:
                self._expand(self.lookup(match[0]), self.text[start : self.position], quoted)

    def _braced(self, body: str) -> Expansion:
        found = braced(body, self.lookup)
        if not isinstance(found, str):
            return found
        if self.depth >= MOST_DEPTH:
            return Expansion(reason="nested too deeply")
        inner = ShellReader(found, self.path, 1, self.lookup, self.depth + 1).whole_text()
        return Expansion(inner.text, reason=inner.unresolved)

    def whole_text(self) -> Word:
        """The whole text as one word, blanks kept, quotes removed."""
        self._now = _Current()
        while self.position < self._end:
            self._part(self.text[self.position])
        return Word("".join(self._now.text), self.place(0), self._now.reason)

    def _expand(self, found: Expansion, written: str, quoted: bool) -> None:
        if found.reason is not None:
            self._unknown(found.reason, text=written, optional=found.optional)
        elif found.words is not None:
            self._end_word()
            self._words.extend(found.words)
        elif quoted or not re.search(r"\s", found.text):
            alone = found.place is not None and _FLAG_OR_NOTHING.match("".join(self._now.text)) is not None
            if found.text or quoted:
                self._add(found.text)
                self._now.whole = found.place if alone else None
        else:
            for index, piece in enumerate(re.split(r"\s+", found.text)):
                if index:
                    self._end_word()
                if piece:
                    self._add(piece)

    def _redirection(self) -> None:
        if "".join(self._now.text).isdigit():
            self._now = _Current()
        self._end_word()
        while self.position < self._end and self.text[self.position] in "<>&|":
            self.position += 1
        while self.position < self._end and self.text[self.position] in " \t":
            self.position += 1
        while self.position < self._end and self.text[self.position] not in " \t\r" + _ENDS:
            self.position += 1

    def _line_end(self) -> int:
        end = self.text.find("\n", self.position)
        return self._end if end < 0 else end

    def _skip_to(self, character: str, start: int) -> None:
        end = self.text.find(character, start, self._end)
        self.position = self._end if end < 0 else end + 1

    def _skip_balanced(self, opening: str, closing: str) -> None:
        level = 0
        while self.position < self._end:
            character = self.text[self.position]
            level += (character == opening) - (character == closing)
            self.position += 1
            if character == closing and level == 0:
                return
