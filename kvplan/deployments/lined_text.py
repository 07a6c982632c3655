"""The text of a YAML value on the lines on which the file has it.

Folded and plain texts lose their line breaks when they are read. For a shell, and for who splits words, a break that
became a blank is one behind a backslash: so every word keeps its line.
"""

from __future__ import annotations

from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node

LONGEST_KEY = 200
"""Characters of a key before a text on its line."""


def lined_text(node: Node, source: Source) -> tuple[str, int]:
    """A scalar's text, and the line of its first character."""
    if node.style == "|":
        return node.text, node.line + 1
    if node.style not in (">", "") or node.end_line <= node.line:
        return node.text, node.line
    first = node.line + (node.style == ">")
    lines = source.text.split("\n")[first - 1 : node.end_line]
    return _aligned(node.text, lines), first


def _aligned(text: str, lines: list[str]) -> str:
    """Each line of the file looked for behind the one before it; one that is not there leaves the text as it is."""
    parts: list[str] = []
    at = 0
    for number, line in enumerate(lines):
        content = line.strip()
        if not number and not text.startswith(content):  # a plain text begins behind its key
            cuts = range(min(len(content), LONGEST_KEY))
            content = next((content[cut:] for cut in cuts if text.startswith(content[cut:])), "")
        found = text.find(content, at) if content else at
        if found < 0:
            break
        between = text[at:found]
        if number:
            parts.append(" \\\n" if between.strip(" ") == "" else between)
        parts.append(content)
        at = found + len(content)
    return "".join(parts) + text[at:]
