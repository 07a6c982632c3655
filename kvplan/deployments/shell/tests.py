"""Conditions of shell scripts whose outcome the file itself settles."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from kvplan.deployments.argv import Word
from kvplan.deployments.shell.expansions import Lookup

_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-gt": operator.gt, "-ge": operator.ge, "-lt": operator.lt,
    "-le": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
}  # fmt: skip
_ARITHMETIC = re.compile(r"\(\([ \t]*\$?\{?([A-Za-z_]\w*)\}?[ \t]*(>=|<=|==|!=|>|<)[ \t]*(\d{1,15})[ \t]*\)\)")
_WHOLE = re.compile(r"^-?\d{1,15}$")


def arithmetic_holds(text: str, start: int, lookup: Lookup) -> bool | None:
    """``(( N > 0 ))`` of a known number; None for anything else."""
    match = _ARITHMETIC.match(text, start)
    if match is None:
        return None
    known = lookup(match[1])
    if known.reason is not None or not _WHOLE.match(known.text):
        return None
    return _NUMBERS[match[2]](int(known.text), int(match[3]))


def test_holds(words: Sequence[Word]) -> bool | None:
    """``[ "$X" = "true" ]`` of known values, ``-z`` and ``-n``; None where a word or the kind of test is not known."""
    texts = [word.text for word in words]
    if texts[:1] == ["!"]:
        inner = test_holds(words[1:])
        return None if inner is None else not inner
    ends = {"[": "]", "[[": "]]"}
    if texts[:1] == ["test"]:
        inside = list(words[1:])
    elif texts and texts[0] in ends and texts[-1] == ends[texts[0]]:
        inside = list(words[1:-1])
    else:
        return None
    if any(word.unresolved or word.branch for word in inside):
        return None
    return _outcome([word.text for word in inside], patterns=texts[0] == "[[")


def _outcome(texts: list[str], *, patterns: bool) -> bool | None:
    if len(texts) == 2 and texts[0] in ("-n", "-z"):
        return bool(texts[1]) == (texts[0] == "-n")
    if len(texts) != 3:
        return None
    left, operation, right = texts
    if operation in ("=", "==", "!="):
        same = fnmatchcase(left, right) if patterns and len(left) + len(right) < 1000 else left == right
        return same == (operation != "!=")
    if operation in _NUMBERS and operation[0] == "-" and _WHOLE.match(left) and _WHOLE.match(right):
        return _NUMBERS[operation](int(left), int(right))
    return None


def both(one: bool | None, other: bool | None) -> bool | None:
    """``&&`` of outcomes that may not be known."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: bool | None, other: bool | None) -> bool | None:
    """``||`` of outcomes that may not be known."""
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def case_holds(subject: Word | None, patterns: str) -> bool | None:
    """Whether ``a|b*)`` takes this subject; None where either is not known."""
    if subject is None or subject.unresolved is not None or len(subject.text) > 200 or re.search(r"[$`]", patterns):
        return None
    return any(fnmatchcase(subject.text, one.strip().strip("\"'")) for one in patterns.split("|"))
