"""What ``$NAME`` and ``${NAME:-default}`` stand for in a shell text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place

NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_DEFAULT = re.compile(r"^([A-Za-z_]\w*|[0-9])(:?[-=+?])(.*)$", re.DOTALL)
_ARRAY = re.compile(r"^([A-Za-z_]\w*)\[[@*]\]$")
_CUT = re.compile(r"^([A-Za-z_]\w*)(##?|%%?)(.*)$", re.DOTALL)
_LONGEST_CUT = 300
"""Characters of a value from which a pattern is cut: trying every place costs their square."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What ``$something`` stands for: text, or whole words of an array, or a reason why that is not known.

    A text of several words of which some are not known has all three: without quotes it is its words.
    """

    text: str = ""
    words: tuple[Word, ...] | None = None
    place: Place | None = None
    reason: str | None = None
    optional: bool = False
    """It stands for words that are usually none."""
    outside: bool = False
    """It is handed on from outside the script, so that the script's own value holds without it."""


Lookup = Callable[[str], Expansion]
"""Name -> what the variable holds."""


def braced(body: str, lookup: Lookup) -> Expansion | str:
    """What is between ``${`` and ``}``: a known variable or array, or the text of the default that holds instead.

    A default holds only for a name that nothing in the file assigns: where it is assigned by a command or in a branch,
    which of the two holds is known when the script runs.
    """
    array = _ARRAY.match(body)
    if array or NAME.fullmatch(body):
        return lookup(array[1] if array else body)
    default = _DEFAULT.match(body)
    if default is None:
        cut = _CUT.match(body)
        if cut is not None:
            return _without(lookup(cut[1]), cut[2], cut[3], body)
        return Expansion(reason=f"${{{body[:40]}}} is not a literal value", optional=":+" in body)
    known = lookup(default[1])
    if default[2].endswith("+"):
        return _instead(known, default[2], default[3], body)
    if default[2].endswith("?"):
        return known
    if known.reason is not None:
        return known if known.place is not None else default[3]
    return known if known.text or known.words or default[2] in "-=" else default[3]


def _instead(known: Expansion, operator: str, text: str, body: str) -> Expansion | str:
    """``${X:+--flag $X}``: the text where the variable has a value, nothing where the file does not set it."""
    if known.reason is None or known.words:
        return text if known.text or known.words or operator == "+" else Expansion(place=known.place)
    return Expansion(reason=f"${{{body[:40]}}} depends on what is set outside", optional=known.place is None)


def _without(known: Expansion, operator: str, pattern: str, body: str) -> Expansion:
    """``${X##*/}``: a value without its beginning or end that matches a literal pattern."""
    if known.reason is not None or known.words is not None:
        return known
    if re.search(r"[$`\"'\\]", pattern) or len(known.text) > _LONGEST_CUT:
        return Expansion(reason=f"${{{body[:40]}}} is not a literal value", place=known.place)
    text = known.text
    places = range(len(text) + 1)
    if operator.startswith("#"):
        ends = reversed(places) if operator == "##" else iter(places)
        rest = next((text[at:] for at in ends if fnmatchcase(text[:at], pattern)), text)
    else:
        starts = iter(places) if operator == "%%" else reversed(places)
        rest = next((text[:at] for at in starts if fnmatchcase(text[at:], pattern)), text)
    return Expansion(rest, place=known.place)
