"""What ``$NAME`` and ``${NAME:-default}`` stand for in a shell text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place

NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_DEFAULT = re.compile(r"^([A-Za-z_]\w*|[0-9])(:?[-=])(.*)$", re.DOTALL)
_ARRAY = re.compile(r"^([A-Za-z_]\w*)\[[@*]\]$")


@dataclass(frozen=True, slots=True)
class Expansion:
    """What ``$something`` stands for: text, or whole words of an array, or a reason why that is not known."""

    text: str = ""
    words: tuple[Word, ...] | None = None
    place: Place | None = None
    reason: str | None = None
    optional: bool = False


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
        return Expansion(reason=f"${{{body[:40]}}} is not a literal value", optional=":+" in body)
    known = lookup(default[1])
    if known.reason is not None:
        return known if known.place is not None else default[3]
    return known if known.text or known.words or default[2] in "-=" else default[3]
