"""Files of variables, ``NAME=value`` a line: ``.env`` beside a compose file, ``env_file``, ``EnvironmentFile=``."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping

from kvplan.deployments.argv import Word
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.expansions import Expansion

_LINE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(?:=|:[ \t])[ \t]*(.*?)[ \t\r]*$")
_REFERENCE = re.compile(r"\\\$|\$\{([A-Za-z_]\w*)(?::?-([^${}]*))?\}|\$([A-Za-z_]\w*)")
MOST_VARIABLES = 2000
EXAMPLES = (".env.example", "example.env", ".env.sample", "env.example", ".env.template", ".env.dist", "sample.env")
"""Files that people copy to ``.env``: what they say is a hint, for the copy is where the values are."""


def variables_in(source: Source, outer: dict[str, Expansion] | None = None) -> dict[str, Expansion]:
    """The variables of a file. Values may name earlier ones, or those of ``outer``."""
    found: dict[str, Expansion] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        match = _LINE.match(line) if not line.lstrip().startswith(("#", ";")) else None
        if match is None:
            continue
        if len(found) >= MOST_VARIABLES:
            break
        text, literal = _unquoted(match[2])
        reason = None
        if not literal:
            text, reason = _filled(text, ChainMap(found, outer or {})) if "$" in text or "`" in text else (text, None)
        found[match[1]] = Expansion(text, place=source.at(number), reason=reason)
    return found


def environment_words(environment: dict[str, Expansion]) -> dict[str, Word]:
    """The variables that are known, as words with their lines."""
    return {
        name: Word(item.text, item.place)
        for name, item in environment.items()
        if item.place is not None and item.reason is None and item.words is None
    }


def _unquoted(text: str) -> tuple[str, bool]:
    """The value without its quotes or its comment, and whether it is literal."""
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        if end > 0:
            return text[1:end], text[0] == "'"
    return re.split(r"(?:^|[ \t])#", text, maxsplit=1)[0].rstrip(), False


def _filled(text: str, known: Mapping[str, Expansion]) -> tuple[str, str | None]:
    reasons: list[str] = []

    def one(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name is None:
            return "$"
        value = known.get(name)
        if value is not None and value.reason is None and value.words is None:
            return value.text
        if match[2] is not None:
            return match[2]
        reasons.append(f"${name} has no literal value in this file")
        return match[0]

    filled = _REFERENCE.sub(one, text)
    if len(filled) > 16_384:
        return text, "the value is too long"
    if re.search(r"\$\(|`", filled):
        reasons.append("a command expansion is never executed")
    return filled, reasons[0] if reasons else None
