"""The YAML documents of a file, with every fault that it has: one that cannot be read does not hide the others."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvplan.deployments.found import Complaint, Unresolved
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.yaml_placeholders import without_placeholders
from kvplan.deployments.yaml_tree import Node, YamlFault, documents
from kvplan.units import shorten

MOST_FAULTS = 20
_START = re.compile(r"^---(?=[ \t\r]|$)", re.MULTILINE)
_RENDER = "render it first: helm template CHART | kvplan check -"


class YamlFile(NamedTuple):
    """What a file holds."""

    roots: list[Node]
    unreadable: list[Unreadable]
    template_line: int | None = None
    """The first line that a template engine must fill in as a whole."""


def yaml_of(source: Source, text: str | None = None, first_line: int = 1) -> YamlFile:
    """The documents of a file, or of a text inside of it that begins at ``first_line``."""
    readable, template = without_placeholders(source.text if text is None else text)
    roots: list[Node] = []
    faults: list[YamlFault] = []
    line = first_line
    while True:
        found, fault = documents(readable, source, line)
        roots += found
        if fault is None:
            break
        faults.append(fault)
        rest = _after(readable, fault.line - line)
        if rest is None or len(faults) >= MOST_FAULTS:
            break
        readable, line = rest[0], line + rest[1]
    advice = _RENDER if "{{" in source.text else None
    unreadable = [Unreadable(source.at(fault.line), fault.message, advice) for fault in faults]
    return YamlFile(roots, unreadable, template + first_line - 1 if template else None)


def _after(text: str, lines: int) -> tuple[str, int] | None:
    """The document behind the one that has this line, counted from 0, and how many lines were passed over."""
    position = 0
    for _ in range(max(lines, 0)):
        position = text.find("\n", position) + 1
        if position == 0:
            return None
    match = _START.search(text, max(position, 1))
    if match is None:
        return None
    return text[match.start() :], text.count("\n", 0, match.start())


def repeated_keys(root: Node, source: Source) -> list[Complaint]:
    """Keys that a document has twice: most readers take the later one, some refuse the file."""
    return [
        Complaint(f"the key {shorten(name, 40)!r} is there twice; the later one is read", source.at(line), level="warn")
        for name, line in root.repeats[:MOST_FAULTS]
    ]


def left_to_a_template(file: YamlFile, source: Source) -> list[Unresolved]:
    """What a template fills in may be anything."""
    if file.template_line is None:
        return []
    line = file.template_line
    text = shorten(source.text.split("\n")[line - 1].strip())
    return [Unresolved("arguments", text, source.at(line), f"lines are filled in by a template; {_RENDER}")]
