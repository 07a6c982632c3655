"""Placeholders of template engines in YAML -> text that a YAML parser reads, on the same lines.

``value: {{HF_TOKEN}}`` is a map for YAML, ``image: "{{ index .Values "tag" }}"`` and a line ``{{- if .Values.x }}``
are no YAML at all. Values that hold a placeholder are put into quotes, so that their text still shows it; lines that
are nothing but a template are taken out. Nothing is filled in.
"""

from __future__ import annotations

import re

_SUSPECT = re.compile(r"\{\{|:[ \t]+[%@`]|^[ \t]*-[ \t]+[%@`]", re.MULTILINE)
_TEMPLATE_LINE = re.compile(r"^[ \t]*\{\{.*\}\}[ \t]*$")
_OPENED_LINE = re.compile(r"^[ \t]*\{\{(?!.*\}\})")
_VALUE = re.compile(r"^(?P<lead>[ \t]*(?:- +)*(?:(?:[\w./-]+|\"[^\"]*\"|'[^']*')[ \t]*:[ \t]+)?)(?P<value>\S.*)$")
_BLOCK = re.compile(r"(?:^|[ \t])[|>][-+0-9]*[ \t]*(?:#.*)?$")
_COMMENT = re.compile(r"[ \t]#[^'\"}]*$")
_WHOLE_PLACEHOLDER = re.compile(r"%\w+%|@\w+@|<[A-Za-z][\w .-]*>")
_LONGEST_LINE = 10_000


def without_placeholders(text: str) -> tuple[str, int | None]:
    """The text with placeholders quoted, and the first line that is a template itself, counted from 1."""
    if _SUSPECT.search(text) is None:
        return text, None
    lines = text.split("\n")
    template: int | None = None
    block_indent: int | None = None
    open_template = False
    for index, line in enumerate(lines):
        if open_template:
            open_template = "}}" not in line
            lines[index] = ""
            continue
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is not None and (not line.strip() or indent > block_indent):
            continue
        block_indent = indent if _BLOCK.search(line) else None
        if len(line) > _LONGEST_LINE or line.lstrip().startswith("#"):
            continue
        if _TEMPLATE_LINE.match(line) or _OPENED_LINE.match(line):
            open_template = "}}" not in line
            template = template or (index + 1)
            lines[index] = ""
        else:
            lines[index] = _quoted(line)
    return "\n".join(lines), template


def is_placeholder(text: str) -> bool:
    """Whether a value is filled in by something else before anybody reads it: ``{{X}}``, ``${X}``, ``<MODEL>``."""
    return ("{{" in text and "}}" in text) or "${" in text or _WHOLE_PLACEHOLDER.fullmatch(text) is not None


def _quoted(line: str) -> str:
    match = _VALUE.match(line)
    if match is None:
        return line
    value = match["value"]
    if value[0] not in '{%@`"' or (value[0] in '{"' and "{{" not in value):
        return line
    if value[0] == '"' and not _breaks_its_quotes(value):
        return line
    if value[0] == "{" and not value.startswith("{{"):
        return line
    comment = _COMMENT.search(value)
    body = value[: comment.start()] if comment else value
    body = body.rstrip()
    if len(body) > 1 and body[0] == body[-1] == '"':
        body = body[1:-1]
    return match["lead"] + "'" + body.replace("'", "''") + "'"


def _breaks_its_quotes(value: str) -> bool:
    """Whether a quoted value has quotes of the same kind inside its braces."""
    return '"' in value[value.find("{{") : value.rfind("}}")]
