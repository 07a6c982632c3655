"""Dockerfile text -> instructions, each on its own lines. Source: Dockerfile reference, format and here-documents."""

from __future__ import annotations

import re
from typing import NamedTuple

_INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+", re.MULTILINE)
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?")
_WRITES = re.compile(r">[ \t]*([^\s<>|&;]+)|<<-?[\"']?\w+[\"']?[ \t]+([^\s<>]+)[ \t]*$")
MOST_INSTRUCTIONS = 2000
LONGEST_HEREDOC = 2000
"""Lines."""


class Instruction(NamedTuple):
    """One instruction."""

    word: str
    """In capitals."""
    text: str
    """Each line but the last ended by a backslash; a comment within is an empty one."""
    line: int
    target: str = ""
    """The file that its here-document becomes."""
    body: str = ""
    body_line: int = 0


def instructions(text: str) -> list[Instruction]:
    """The instructions in their order."""
    lines = text.split("\n")
    found: list[Instruction] = []
    at = 0
    while at < len(lines) and len(found) < MOST_INSTRUCTIONS:
        match = _INSTRUCTION.match(lines[at] + " ")
        if match is None or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        word, start = match[1].upper(), at
        parts, at = _continued(lines, at, lines[at][match.end() :])
        item = Instruction(word, "\n".join(parts), start + 1)
        heredoc = _HEREDOC.search(parts[-1]) if word in ("RUN", "COPY") else None
        at += 1
        if heredoc is not None:
            end = next(
                (i for i in range(at, min(len(lines), at + LONGEST_HEREDOC)) if lines[i].strip() == heredoc[1]), at
            )
            target = _WRITES.search(parts[-1])
            path = (target[1] or target[2]) if target is not None else ""
            item = item._replace(target=path.strip("\"'"), body="\n".join(lines[at:end]), body_line=at + 1)
            at = max(at, end + 1) if end > at else at
        found.append(item)
    return found


def _continued(lines: list[str], at: int, first: str) -> tuple[list[str], int]:
    """The lines of an instruction, and the index of its last one."""
    parts = [first]
    while parts[-1].rstrip().endswith("\\") and at + 1 < len(lines):
        at += 1
        comment = lines[at].lstrip().startswith("#")
        parts.append("\\" if comment else lines[at])
    return parts, at
