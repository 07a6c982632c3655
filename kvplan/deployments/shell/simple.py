"""One simple command of a script: what it assigns, sources or calls; everything else is handed on."""

from __future__ import annotations

import re

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import engine_words
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.walk import MOST_DEPTH, Statement, Walker
from kvplan.deployments.shell.words import ShellReader

_ASSIGNS = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]{0,200}\])?(\+)?=")
_DECLARES = re.compile(r"(export|local|readonly|declare|typeset)((?:[ \t]+-\w+)*)(?=[ \t\n;]|$)")
_ONLY_VARIABLE = re.compile(r"^\"?\$(?:(\w+)|\{([A-Za-z_]\w*)(?:\[[@*]\])?\})\"?$")
_DEFAULTED = re.compile(r"\$\{([A-Za-z_]\w*):?=")
_LEAVES = {"exit", "return", "exec", "die", "fail", "fatal", "usage", "abort"}
_READS = {"read", "mapfile", "readarray", "getopts"}
_BLANK = re.compile(r"(?:[ \t]|\\\r?\n)*")


def simple_command(walker: Walker) -> None:
    """Read the command at the walker's place."""
    start = walker.position
    declares = _DECLARES.match(walker.text, start)
    if declares is not None:
        walker.position = declares.end()
        _skip_blank(walker)
    assigned = _assignments(walker)
    if declares is not None:
        _declared(walker, assigned, start)
        return
    if walker.position >= len(walker.text) or walker.text[walker.position] in "\n;|&)#":
        _keep(walker, assigned)
        return
    at = walker.position
    words = walker.reader.command(at)
    prefix = {name: value for name, value, _ in assigned}
    statement = Statement(words, walker.reader, walker.state, prefix, at, source=walker.shared.source)
    statement.spans = list(walker.reader.spans)
    walker.after(words, at)
    following = walker.text[walker.position : walker.position + 2]
    statement.background = following[:1] == "&" and following != "&&"
    _run(walker, statement)


def _run(walker: Walker, statement: Statement) -> None:
    """A command with words: those that change variables, or are known, are followed."""
    words = statement.words
    first = words[0].text if words else ""
    chained = walker.holds()
    if first in walker.shared.functions and words[0].unresolved is None:
        resume = walker.position
        walker.call(first, tuple(words[1:]))
        walker.position = resume
    elif first in ("source", ".") and len(words) > 1:
        _sourced(walker, words[1])
    elif first in _READS:
        _read_names(walker, words)
    elif first == "unset":
        for word in words[1:]:
            walker.state.unset(word.text)
    elif first == "shift":
        walker.state.shift(int(words[1].text) if len(words) > 1 and words[1].text.isdecimal() else 1)
    elif first == ":":
        _colon(walker, statement)
    else:
        walker.shared.take(statement, walker)
    if first in _LEAVES and chained is True:
        walker.state.give_up()
    walker.tested(words)


def _skip_blank(walker: Walker) -> None:
    blank = _BLANK.match(walker.text, walker.position)
    walker.position = blank.end() if blank else walker.position


def _assignments(walker: Walker) -> list[tuple[str, Expansion, bool]]:
    """(name, value, whether it is added to the old one) of ``A=1 B+=(x y)``."""
    found: list[tuple[str, Expansion, bool]] = []
    while len(found) < 2000:
        match = _ASSIGNS.match(walker.text, walker.position)
        if match is None:
            break
        value = _value(walker, match.end(), match.start())
        if match[2] is not None:
            value = Expansion(place=value.place, reason=f"${match[1]} is filled by keys")
        found.append((match[1], value, match[3] is not None))
        _skip_blank(walker)
    return found


def _value(walker: Walker, start: int, named: int) -> Expansion:
    """The value behind ``NAME=``, and the walker behind it."""
    reader, place = walker.reader, walker.reader.place(named)
    if walker.text[start : start + 1] == "(":
        words = reader.command(start + 1, inside_parentheses=True)
        walker.after(words, start)
        walker.position += walker.text[walker.position : walker.position + 1] == ")"
        return Expansion(words=tuple(words), place=place)
    read = reader.command(start, first=True)
    walker.after([], start)
    raw = walker.text[start : walker.position]
    same = _ONLY_VARIABLE.match(raw)
    if same is not None:
        known = walker.state.lookup(same[1] or same[2])
        if known.words is not None:
            return Expansion(words=known.words, place=place)
    if not read:
        return Expansion("", place=place)
    command = engine_words().search(read[0].text) is not None  # its words keep their lines
    if (command or read[0].unresolved is not None) and raw[:1] == '"' == raw[-1:] and re.search(r"[ \t\n]", raw):
        inner = ShellReader(raw[1:-1].replace('\\"', '"'), reader.path, place.line, reader.lookup)
        inner.marks = reader.marks
        pieces = tuple(inner.command(0))
        if len(pieces) > 1 and inner.position >= len(inner.text):
            return Expansion(read[0].text, pieces, place, read[0].unresolved)
    return Expansion(read[0].text, place=place, reason=read[0].unresolved, outside=read[0].optional)


def _keep(walker: Walker, assigned: list[tuple[str, Expansion, bool]]) -> None:
    """Assignments that are a statement of their own; behind ``&&`` or ``||`` they are a branch."""
    holds = walker.holds()
    if holds is not True:
        walker.state.open(holds)
    for name, value, adds in assigned:
        if adds:
            walker.state.append(name, value)
        else:
            walker.state.assign(name, value)
        _offer(walker, name, value)
    if holds is not True:
        walker.state.close()


def _offer(walker: Walker, name: str, value: Expansion) -> None:
    """An array or text may be a command that something runs later."""
    if value.words is not None and value.place is not None:
        words = list(value.words)
    elif value.reason is None and value.place is not None and re.search(r"[ \t]", value.text):
        words = [Word(text, value.place) for text in value.text.split()]
    else:
        return
    statement = Statement(words, walker.reader, walker.state, {}, walker.position, variable=name)
    statement.spans = [None] * len(words)
    walker.shared.kept(statement, walker)


def _declared(walker: Walker, assigned: list[tuple[str, Expansion, bool]], start: int) -> None:
    """``export A=1 B``: the names that stay without a value change nothing, and files of variables are read."""
    _keep(walker, assigned)
    while walker.position < len(walker.text) and walker.text[walker.position] not in "\n;|&)":
        at = walker.position
        if walker.text[at] in " \t\r":
            _skip_blank(walker)
            walker.position = max(walker.position, at + 1)
            continue
        if _ASSIGNS.match(walker.text, at):
            _keep(walker, _assignments(walker))
            continue
        words = walker.reader.command(at, first=True)
        walker.after(words, at)
        file = re.search(r"[\w./-]*\.env\b", words[0].text) if words and words[0].unresolved else None
        if file is not None:
            _sourced(walker, Word(file[0], words[0].place))
        walker.position = max(walker.position, at + 1)


def _sourced(walker: Walker, word: Word) -> None:
    """``source ./env``: the file where it is in the tree."""
    shared = walker.shared
    if shared.source is None or word.unresolved is not None or shared.depth >= MOST_DEPTH:
        return
    found = shared.source.beside(word.text)
    if not isinstance(found, Source) or found.path == walker.reader.path:
        return
    shared.depth += 1
    reader = ShellReader(found.text, found.path, 1, walker.state.lookup)
    Walker(reader, walker.state, shared).walk()
    shared.depth -= 1


def _read_names(walker: Walker, words: list[Word]) -> None:
    for word in words[1:]:
        if re.fullmatch(r"[A-Za-z_]\w*", word.text):
            reason = f"${word.text} varies in a loop or is read as input"
            walker.state.assign(word.text, Expansion(place=word.place, reason=reason))


def _colon(walker: Walker, statement: Statement) -> None:
    """``: "${NAME:=default}"``."""
    end = walker.position
    for match in _DEFAULTED.finditer(walker.text, statement.start, end):
        known = walker.state.lookup(match[1])
        if known.place is None or (known.reason is None and not known.text):
            read = walker.reader.command(match.start(), first=True)
            place = walker.reader.place(match.start())
            if read:
                walker.state.assign(match[1], Expansion(read[0].text, place=place, reason=read[0].unresolved))
