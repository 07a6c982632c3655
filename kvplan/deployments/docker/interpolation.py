"""What Compose fills into a file before anything runs: ``${NAME:-default}``, with ``$$`` for a dollar.

Source: Compose specification, interpolation. Values come from ``.env`` beside the file; what the shell that calls
``docker compose`` would set is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.marks import Marks
from kvplan.deployments.shell.expansions import Expansion

_NAME = re.compile(r"[A-Za-z_]\w*")
_BRACES = re.compile(r"[{}]")
_BODY = re.compile(r"^([A-Za-z_]\w*)(?:(:?[-+?])(.*))?$", re.DOTALL)
MOST_DEPTH = 8
LONGEST_TEXT = 100_000
"""Characters of one value with everything filled in."""


@dataclass(slots=True)
class Interpolation:
    """The variables of one project, and the marks for those that have no value."""

    variables: dict[str, Expansion]
    hints: dict[str, str] = field(default_factory=dict)
    """Values in an example of the file of variables: never used, only named."""
    marks: Marks = field(default_factory=Marks)

    def filled(self, text: str, depth: int = 0) -> str:
        """A text with its variables, on as many lines as before; marks stand for what is not known."""
        if "$" not in text:
            return text
        parts: list[str] = []
        grown, at = 0, 0
        while at < len(text):
            dollar = text.find("$", at)
            if dollar < 0 or grown > LONGEST_TEXT:
                parts.append(text[at:] if grown <= LONGEST_TEXT else self.marks.put("...", "the value is too long"))
                break
            parts.append(text[at:dollar])
            piece, at = self._reference(text, dollar, depth)
            grown += len(piece)
            parts.append(piece.replace("\n", " "))
        return "".join(parts)

    def word(self, text: str, place: Place) -> Word:
        """A whole value as a word; where it is one variable alone, the place where that is set."""
        filled, reason = self.marks.restored(self.filled(text))
        body = _BODY.match(text[2:-1]) if text.startswith("${") and text.endswith("}") else None
        known = self.variables.get(body[1]) if body is not None else None
        return Word(filled, known.place if known is not None and known.place else place, reason)

    def _reference(self, text: str, at: int, depth: int) -> tuple[str, int]:
        """What the ``$`` at this place stands for, and where the text goes on."""
        following = text[at + 1 : at + 2]
        if following == "$":
            return "$", at + 2
        if following != "{":
            name = _NAME.match(text, at + 1)
            return (self._value(name[0], text[at : name.end()]), name.end()) if name else ("$", at + 1)
        end = _closing(text, at + 1)
        written, body = text[at:end], _BODY.match(text[at + 2 : end - 1])
        if body is None or depth >= MOST_DEPTH:
            return self.marks.put(written, f"{written[:40]} is not a reference that Compose takes"), end
        return self._braced(body, written, depth), end

    def _braced(self, body: re.Match[str], written: str, depth: int) -> str:
        name, operator, rest = body[1], body[2] or "", body[3] or ""
        known = self.variables.get(name)
        given = known is not None and (known.text != "" or known.reason is not None or not operator.startswith(":"))
        if operator.endswith("-") and not given:
            return self.filled(rest, depth + 1)
        if operator.endswith("+"):
            return self.filled(rest, depth + 1) if given else ""
        return self._value(name, written)

    def _value(self, name: str, written: str) -> str:
        known = self.variables.get(name)
        if known is not None and known.reason is None:
            return known.text
        if known is not None:
            return self.marks.put(written, str(known.reason))
        if name == "HOME":
            return "~"
        hint = f" (an example file has {self.hints[name][:60]})" if name in self.hints else ""
        return self.marks.put(written, f"${name} is set outside the file{hint}")


def _closing(text: str, brace: int) -> int:
    """Behind the brace that closes the one at this place."""
    level = 0
    for match in _BRACES.finditer(text, brace):
        level += 1 if match[0] == "{" else -1
        if level == 0:
            return match.end()
    return len(text)
