"""``$(...)`` and ``$((...))`` of a shell text whose outcome the file itself settles. Nothing is executed.

Whole numbers and variables that hold some are computed as a shell does: ``TP=$(( $GPUS_PER_NODE * $NODES ))``.
"""

from __future__ import annotations

import re
from typing import Final

from kvplan.deployments.shell.expansions import Lookup

_OWN_FOLDER = re.compile(r"^\$\([^;|]*\b(?:dirname\b|BASH_SOURCE)[^;|]*(?:\$0|\$\{0|BASH_SOURCE)[^;|]*\)$")
_WHICH = re.compile(r"^\$\((?:which|command[ \t]+-v|type[ \t]+-p)[ \t]+([\w./-]+)\)$")
_TOKEN = re.compile(r"\s*(?:(0|[1-9]\d{0,14})(?!\w)|\$?([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)\}|([-+*/%()]))")
LONGEST_TEXT: Final = 200
"""Characters of one calculation."""
_MOST = 2**63
"""A shell's numbers have 64 bits."""


def substituted(written: str, lookup: Lookup) -> str | None:
    """What ``$(...)`` stands for; None where only a shell can say that."""
    found = _WHICH.match(written)
    if found is not None:
        return found[1]
    if _OWN_FOLDER.match(written):
        return "."
    if written.startswith("$((") and written.endswith("))") and len(written) <= LONGEST_TEXT:
        tokens = _tokens(written[3:-2], lookup)
        return None if tokens is None else _computed(tokens)
    return None


def _tokens(text: str, lookup: Lookup) -> list[str] | None:
    """Numbers and operators, variables filled in."""
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        name = match[2] or match[3]
        token = match[1] or match[4]
        if name is not None:
            known = lookup(name)
            if known.reason is not None or known.words is not None or not re.fullmatch(r"0|[1-9]\d{0,14}", known.text):
                return None
            token = known.text
        found.append(token)
        at = match.end()
    return found


def _computed(tokens: list[str]) -> str | None:
    """The value of a sum; None for one that is not well formed or leaves the range."""
    rest = tokens[::-1]
    try:
        value = _sum(rest)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return str(value) if not rest and abs(value) < _MOST else None


def _sum(rest: list[str]) -> int:
    value = _product(rest)
    while rest and rest[-1] in "+-":
        value = value + _product(rest) if rest.pop() == "+" else value - _product(rest)
    return value


def _product(rest: list[str]) -> int:
    value = _single(rest)
    while rest and rest[-1] in "*/%":
        operation, other = rest.pop(), _single(rest)
        if operation == "*":
            value *= other
            continue
        quotient = abs(value) // abs(other) * (1 if value * other >= 0 else -1)  # towards zero, as C does
        value = quotient if operation == "/" else value - other * quotient
    return value


def _single(rest: list[str]) -> int:
    token = rest.pop()
    if token == "(":
        value = _sum(rest)
        if rest.pop() != ")":
            raise ValueError(token)
        return value
    return -_single(rest) if token == "-" else int(token)
