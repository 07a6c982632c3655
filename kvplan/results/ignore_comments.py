"""What the text of a file says about findings that don't count: comments, and annotations of Kubernetes objects.

``# kvplan: ignore[KV201] reason, until=2027-01-31`` on the line of the setting, or alone on a line above it;
``kvplan.dev/ignore.KV201: "reason"`` among the annotations of the object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from itertools import islice

_RULES = r"KV\d{3}(?:[ \t]*,[ \t]*KV\d{3})*"
_COMMENT = re.compile(
    rf"(?:^|(?<=\s))(#|//|;)+[ \t]*kvplan:[ \t]*ignore\b[ \t]*(?:\[([^\]\n]*)\]|({_RULES})?)[ \t:]*([^\n]*)",
    re.IGNORECASE,
)
_ANNOTATION = re.compile(
    r"""(["']?)kvplan\.dev/ignore\.(\w+)\1[ \t]*:[ \t]*"""
    r"""("(?:[^"\\\n]|\\.){,500}"|'(?:[^'\n]|''){,500}'|[^,}\n#]{,500})"""
)
_UNTIL = re.compile(r"[\s,;(]*\buntil[ \t]*=[ \t]*([^\s,;)]*)[)\s]*")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_MOST_OF_A_FILE = 1000
_MOST_LINES_OF_AN_OBJECT = 2000
"""Up and down from an annotation."""
_MOST_LINES_OF_A_REASON = 20
_LONGEST_REASON = 500
_RULE = re.compile(r"KV\d{3}\Z")
_SEMICOLON_FILES = (".ini", ".service", ".container", ".pod", ".conf", ".cfg", ".env")
_SLASH_FILES = (".json", ".jsonc", ".json5")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a file, both ends included."""

    first: int
    last: int

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class Ignored:
    """One rule that the text of a file ignores, or an attempt at it: ``fault`` says why it does not hold."""

    rule: str
    reason: str
    until: date | None
    line: int
    span: Span
    """Of findings and deployments that it is about."""
    of_object: bool = False
    """An annotation: it is about every deployment that any of these lines has to do with."""
    fault: str | None = None


def ignored_in(path: str, text: str) -> list[Ignored]:
    """All of the kind in a file, in the order of its lines. What comes after the first thousand does not hold."""
    found: list[Ignored] = []
    lowered = text.lower()
    if "kvplan:" in lowered:
        found += _comments(path, text.split("\n"))
    if "kvplan.dev/ignore." in lowered:
        found += _annotations(text.split("\n"))
    return sorted(found, key=lambda item: (item.line, item.rule))[:_MOST_OF_A_FILE]


def _comments(path: str, lines: list[str]) -> list[Ignored]:
    signs = _signs(path)
    found: list[Ignored] = []
    below = 0  # the number of the next line that holds more than a comment; so the last line comes first
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        match = _COMMENT.search(line) if "kvplan:" in line.lower() else None
        if match is not None and match[1] in signs:
            alone = not line[: match.start()].strip()
            span = Span(index + 1, max(below, index + 1) if alone else index + 1)
            rules = [word.strip().upper() for word in (match[2] or match[3] or "").split(",")]
            found += [_judged(rule, match[4], index + 1, span) for rule in rules]
        if line.strip() and not line.lstrip().startswith(signs):
            below = index + 1
    return found


def _signs(path: str) -> tuple[str, ...]:
    """The comment signs of this kind of file."""
    name = path.rsplit("/", 1)[-1].lower()
    if name.endswith(_SLASH_FILES):
        return ("#", "//")
    if name.endswith(_SEMICOLON_FILES):
        return ("#", ";")
    return ("#", "//", ";") if name.startswith("modelfile") or name.endswith(".modelfile") else ("#",)


def _annotations(lines: list[str]) -> list[Ignored]:
    found: list[Ignored] = []
    for index, line in enumerate(lines):
        if len(found) >= _MOST_OF_A_FILE:
            break
        if "kvplan.dev/ignore." not in line or line.lstrip().startswith("#"):
            continue
        span = _object_around(lines, index)
        for match in islice(_ANNOTATION.finditer(line), _MOST_OF_A_FILE):
            reason = _scalar(match[3].strip(), lines, index)
            found.append(_judged(match[2].upper(), reason, index + 1, span, of_object=True))
    return found


def _scalar(text: str, lines: list[str], index: int) -> str:
    """A YAML scalar as text: quoted, plain, or a block on the lines below."""
    if text[:1] in "\"'" and len(text) > 1:
        return text[1:-1].replace("''", "'").replace('\\"', '"')
    if text.rstrip("+-0123456789") not in (">", "|"):
        return text
    block = []
    for later in lines[index + 1 : index + 1 + _MOST_LINES_OF_A_REASON]:
        if later.strip() and _indent(later) <= _indent(lines[index]):
            break
        block.append(later.strip())
    return " ".join(block).strip()


def _object_around(lines: list[str], index: int) -> Span:
    """The lines of the object whose ``metadata`` has this annotation, by indentation alone.

    Two levels out of the annotation's block (``annotations``, ``metadata``) are the object's own keys; in a list its
    first key stands behind the dash. Written in one line (flow style, JSON) the whole document is the object.
    """
    first = last = index
    top, bottom = max(index - _MOST_LINES_OF_AN_OBJECT, 0), min(index + _MOST_LINES_OF_AN_OBJECT, len(lines) - 1)
    while first > top and not lines[first - 1].startswith("---"):
        first -= 1
    while last < bottom and not lines[last + 1].startswith("---"):
        last += 1
    own, level = index, _indent(lines[index])
    for key in ("annotations:", "metadata:"):
        while own > first and not (_is_text(lines[own]) and _indent(lines[own]) < level):
            own -= 1
        if lines[own].lstrip(" -").split("#")[0].strip() != key:
            return Span(first + 1, last + 1)
        level = _indent(lines[own]) if key == "annotations:" else _key_column(lines[own])
    top = own
    while top > first and not _begins(lines[top], level):
        top -= 1
    bottom = index
    while bottom < last and not _ends(lines[bottom + 1], level):
        bottom += 1
    return Span(top + 1, bottom + 1)


def _begins(line: str, column: int) -> bool:
    """Whether an object with its keys in this column begins here: behind a dash, or below a key further left."""
    return _is_text(line) and (_indent(line) < column)


def _ends(line: str, column: int) -> bool:
    return _is_text(line) and _indent(line) < column


def _is_text(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _key_column(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def _judged(rule: str, text: str, line: int, span: Span, *, of_object: bool = False) -> Ignored:
    """With its reason and date apart, and what is wrong with them."""
    until, fault, text = None, None, text[:_LONGEST_REASON]
    match = _UNTIL.search(text)
    if match is not None:
        text = f"{text[: match.start()]} {text[match.end() :]}"
        until = _day(match[1])
        fault = "its date must look like until=2027-01-31" if until is None else None
    reason = text.strip(" \t,;:-").strip()
    if not _RULE.match(rule):
        fault = "it names no rule: ignore[KV201] reason" if not rule else f"there is no rule {rule[:20]!r}"
    elif not reason:
        fault = fault or "it gives no reason"
    return Ignored(rule, reason, until, line, span, of_object, fault)


def _day(text: str) -> date | None:
    """``2027-01-31``; None for what is no day, and for other ways to write one."""
    try:
        return date(*map(int, text.split("-"))) if _DAY.match(text) else None
    except ValueError:
        return None
