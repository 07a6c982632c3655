"""Marks for pieces of a text that is taken apart later: which of its words hold something that is not known.

Compose files and units fill in their variables before any word is split. What has no value there is put in as a mark,
and the word that holds it afterwards says why it is not known.
"""

from __future__ import annotations

import re

_MARK = re.compile("\ue000(\\d{1,6})\ue001")


class Marks:
    """The marks of one text."""

    def __init__(self) -> None:
        self._known: list[tuple[str, str]] = []

    def put(self, written: str, reason: str) -> str:
        """A mark that stands for ``written``."""
        self._known.append((written, reason))
        return f"\ue000{len(self._known) - 1}\ue001"

    def restored(self, text: str) -> tuple[str, str | None]:
        """The text as it was written, and why it is not known: the reason of its first mark."""
        reasons: list[str] = []

        def one(match: re.Match[str]) -> str:
            at = int(match[1])
            if at >= len(self._known):
                return ""
            reasons.append(self._known[at][1])
            return self._known[at][0]

        return _MARK.sub(one, text), reasons[0] if reasons else None
