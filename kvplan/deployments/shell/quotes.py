"""One word of shell text at a time: quotes, backslashes and what a ``$`` stands for.

Nothing is executed. A variable becomes text only where the file assigns it literally or gives a literal default;
any other expansion leaves a word that says why it is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.marks import Marks
from kvplan.deployments.shell.expansions import NAME, Expansion, Lookup, braced
from kvplan.deployments.shell.substitutions import substituted

_FLAG_OR_NOTHING = re.compile(r"^(?:--?[\w-]+=)?$")
_PLAIN = re.compile(r"[^\s\\'\"`$<>;|&)#]+")
_PLAIN_QUOTED = re.compile(r"[^\\\"`$]+")
_BALANCED = {"(": re.compile(r"\\.|'[^'\n]*'|[()]", re.DOTALL), "{": re.compile(r"\\.|[{}]", re.DOTALL)}
MOST_DEPTH = 8
LONGEST_EXPANSION = 100_000
"""Characters that the variables of one command may hold."""


@dataclass(slots=True)
class _Current:
    """The word that is being read."""

    text: list[str] = field(default_factory=list)
    place: Place | None = None
    start: int = 0
    started: bool = False
    whole: Place | None = None
    """The place of the one variable that the word, or a flag's value, consists of so far."""
    reason: str | None = None
    optional: bool = False


class ShellText:
    """A text, a place in it, and the word that is being read there. ``first_line`` is that of its first character."""

    def __init__(self, text: str, path: str, first_line: int, lookup: Lookup, depth: int = 0) -> None:
        self.text, self.path, self.first_line, self.lookup, self.depth = text, path, first_line, lookup, depth
        self.marks: Marks | None = None
        self.position = 0
        self.unclosed = False
        self.grown = 0
        self._end = len(text)
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._words: list[Word] = []
        self.spans: list[tuple[int, int] | None] = []
        """Where each word of the last command stands in the text; None for those that a variable gave."""
        self._assigning = False
        self._now = _Current()

    def place(self, position: int) -> Place:
        """The line of a character."""
        return Place(self.path, self.first_line + bisect_right(self._newlines, position - 1))

    def whole_text(self) -> Word:
        """The whole text as one word, blanks kept, quotes removed."""
        self._now, self._assigning = _Current(), True
        while self.position < self._end:
            self._part(self.text[self.position])
        return Word("".join(self._now.text), self.place(0), self._now.reason)

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
            plain = _PLAIN.match(self.text, self.position, self._end)
            end = plain.end() if plain else self.position + 1
            self._add(self.text[self.position : end])
            self.position = end

    def _add(self, text: str) -> None:
        now = self._now
        if not now.started:
            self._start()
        now.text.append(text)
        now.whole = None

    def _start(self) -> None:
        self._now.started, self._now.place, self._now.start = True, self.place(self.position), self.position

    def _unknown(self, reason: str, *, text: str = "$(...)", optional: bool = False) -> None:
        first = not any(self._now.text)
        self._add(text)
        self._now.reason = self._now.reason or reason
        self._now.optional = optional and first

    def _end_word(self) -> None:
        now, self._now = self._now, _Current()
        if now.started:
            place = now.whole or now.place or self.place(self.position)
            text, reason = "".join(now.text), now.reason
            if self.marks is not None and "\ue000" in text:
                text, marked = self.marks.restored(text)
                reason = reason or marked
            self._words.append(Word(text, place, reason, now.optional))
            self.spans.append((now.start, self.position))

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
        self.unclosed = self.unclosed or end < 0
        end = self._end if end < 0 else end
        self._add(self.text[self.position + 1 : end])
        self.position = end + 1

    def _double_quotes(self) -> None:
        if not self._now.started:
            self._start()
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
                plain = _PLAIN_QUOTED.match(self.text, self.position, self._end)
                end = plain.end() if plain else self.position + 1
                self._add(self.text[self.position : end])
                self.position = end
        self.unclosed = self.unclosed or self.position >= self._end
        self.position += 1

    def _dollar(self, *, quoted: bool) -> None:
        start = self.position
        following = self.text[start + 1 : start + 2]
        if following == "(":
            self._skip_balanced("(", ")")
            written = self.text[start : self.position]
            settled = substituted(written, self.lookup)
            if settled is not None:
                self._add(settled)
            else:
                self._unknown("a command or arithmetic expansion is never executed", text=written)
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
        inner = ShellText(found, self.path, 1, self.lookup, self.depth + 1).whole_text()
        return Expansion(inner.text, reason=inner.unresolved)

    def _expand(self, found: Expansion, written: str, quoted: bool) -> None:
        quoted = quoted or self._assigning
        whole = self._assigning or (quoted and found.reason is not None)
        self.grown += len(found.text) + len(found.words or ())
        if self.grown > LONGEST_EXPANSION:
            self._unknown(
                f"the variables of this command hold more than {LONGEST_EXPANSION:,} characters", text=written
            )
        elif found.words is not None and not whole:
            if any(self._now.text):
                self._end_word()
            self._now = _Current()
            self._words.extend(found.words)
            self.spans.extend([None] * len(found.words))
        elif found.words is not None:
            self._join(found, written)
        elif found.reason is not None:
            path = "/" in found.text and not re.search(r"\s", found.text)  # its end may still name the program
            self._unknown(found.reason, text=found.text if path else written, optional=found.optional)
        elif quoted or not re.search(r"\s", found.text):
            alone = found.place is not None and _FLAG_OR_NOTHING.match("".join(self._now.text)) is not None
            if found.text or quoted:
                self._add(found.text)
                self._now.whole = found.place if alone else None
        else:
            self._split(found)

    def _split(self, found: Expansion) -> None:
        """A text that stands without quotes is several words."""
        for index, piece in enumerate(re.split(r"\s+", found.text)):
            if index:
                self._end_word()
            if piece:
                self._add(piece)
                self._now.place = found.place or self._now.place

    def _join(self, found: Expansion, written: str) -> None:
        """An array, or a text that is partly known, inside one text."""
        words = found.words or ()
        unknown = next((word.unresolved or word.branch for word in words if word.unresolved or word.branch), None)
        if found.reason is not None:
            self._unknown(found.reason, text=found.text)
        elif unknown is not None:
            self._unknown(unknown, text=written)
        else:
            self._add(" ".join(word.text for word in words))

    def _skip_to(self, character: str, start: int) -> None:
        end = self.text.find(character, start, self._end)
        self.position = self._end if end < 0 else end + 1

    def _skip_balanced(self, opening: str, closing: str) -> None:
        level = 0
        for match in _BALANCED[opening].finditer(self.text, self.position, self._end):
            level += (match[0] == opening) - (match[0] == closing)
            if match[0] == closing and level == 0:
                self.position = match.end()
                return
        self.position = self._end
