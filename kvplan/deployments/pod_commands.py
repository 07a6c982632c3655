"""The engine command of one container: argv lists, strings for a shell, and variables from ``env``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_image, engine_words, flags_in
from kvplan.deployments.found import Complaint
from kvplan.deployments.interface import Source
from kvplan.deployments.shell_commands import commands_in
from kvplan.deployments.shell_expansions import Expansion
from kvplan.deployments.yaml_tree import Node

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_WHOLE_VALUE = re.compile(r"^(?:--?[\w-]+=)?\$\(([A-Za-z_][\w.-]*)\)$")
MOST_ITEMS = 20_000
"""Arguments and variables of one container."""
_SHELL_REFERENCE = re.compile(r"(?<!\$)\$(?:\{|[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class PodCommand:
    """What a container runs."""

    engine: str
    arguments: Arguments
    line: int
    environment: dict[str, Word]


def command_of(container: Node, source: Source, environment: dict[str, Expansion]) -> PodCommand | None:
    """The container's engine command: ``command`` and ``args``, or ``args`` alone under the engine's own image."""
    given = {name: Word(item.text, item.place) for name, item in environment.items() if item.place and not item.reason}
    command, args = _nodes(container.get("command")), _nodes(container.get("args"))
    nodes = [*command, *args]
    for node in nodes:
        if engine_words().search(node.text) and re.search(r"\s", node.text.strip()):
            found = commands_in(_filled_in(node.text, environment), source.path, _text_line(node), environment)
            if found:
                line = _own_line(source, node, found[0].place.line)
                arguments = _on_own_lines(found[0].arguments, node, source)
                return PodCommand(found[0].engine, arguments, line, {**given, **found[0].environment})
    words = [_word(node, source, environment) for node in nodes]
    started = flags_in([word.text for word in words])
    if started is not None:
        engine, start = started
        arguments = engine.read(words[start:], words[start - 1].text if start else "")
        return PodCommand(engine.engine, arguments, words[max(start - 1, 0)].place.line, given)
    own = command_of_image(container.scalar("image"))
    if own is not None and not command:
        return PodCommand(own.engine, own.read(words), nodes[0].line if nodes else container.line, given)
    return None


def environment_of(container: Node, roots: list[Node], source: Source) -> dict[str, Expansion]:
    """Variables of a container: literal values, and those of ConfigMaps in the same file."""
    found: dict[str, Expansion] = {}
    for entry in _nodes(container.get("envFrom")):
        for name, node in _config_map(entry.scalar("configMapRef", "name"), roots).items():
            found[name] = Expansion(node.text, place=source.at(node.line))
    for entry in _nodes(container.get("env")):
        name, value = entry.scalar("name"), entry.get("value")
        if not name:
            continue
        if value is None:
            reference = entry.get("valueFrom", "configMapKeyRef")
            data = _config_map(reference.scalar("name"), roots) if reference is not None else {}
            value = data.get(reference.scalar("key")) if reference is not None else None
        place = source.at(value.line if value is not None else entry.line)
        if value is None:
            found[name] = Expansion(place=place, reason=f"$({name}) comes from outside this file")
        else:
            text, reason = _substituted(value.text, found)
            found[name] = Expansion(text, place=place, reason=reason)
    return found


def unread_items(container: Node, source: Source) -> list[Complaint]:
    """One complaint for each list that is longer than what is read of it."""
    found = []
    for key in ("command", "args", "env", "envFrom"):
        rest = getattr(container.get(key), "items", [])[MOST_ITEMS:]
        message = f"not read further: more than {MOST_ITEMS:,} items of {key}"
        found += [Complaint(message, source.at(node.line), stops=True) for node in rest[:1]]
    return found


def _config_map(name: str, roots: list[Node]) -> dict[str, Node]:
    for root in roots:
        data = root.get("data")
        if data is None or not name or root.scalar("kind") != "ConfigMap":
            continue
        if root.scalar("metadata", "name") == name:
            return {key: node for key, node in data.entries.items() if node.kind == "scalar"}
    return {}


def _nodes(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return node.items[:MOST_ITEMS] if node.kind == "list" else [node] if node.kind == "scalar" else []


def _word(node: Node, source: Source, environment: dict[str, Expansion]) -> Word:
    """One argument with ``$(NAME)`` filled in; other dollars stay as they are, for no shell reads them."""
    text, reason = _substituted(node.text, environment)
    whole = _WHOLE_VALUE.match(node.text)
    known = environment.get(whole[1]) if whole else None
    place = known.place if known is not None and known.place is not None else source.at(node.line)
    if reason is None and _SHELL_REFERENCE.search(text):
        reason = f"{text[:40]} is not substituted without a shell"
    if reason is None and re.search(r"\{\{.*\}\}|\$\{", text):
        reason = "a placeholder is filled in later"
    return Word(text, place, reason)


def _filled_in(text: str, environment: dict[str, Expansion]) -> str:
    """A shell text with the ``$(NAME)`` that Kubernetes fills in before any shell reads it, on the same lines."""

    def one(match: re.Match[str]) -> str:
        known = environment.get(match[1] or "")
        return match[0] if known is None or known.reason is not None else known.text.replace("\n", " ")

    return _REFERENCE.sub(one, text)


def _substituted(text: str, environment: dict[str, Expansion]) -> tuple[str, str | None]:
    reasons: list[str] = []

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        known = environment.get(match[1])
        if known is None or known.reason is not None:
            reasons.append(known.reason if known and known.reason else f"$({match[1]}) has no value in this file")
            return match[0]
        return known.text

    return _REFERENCE.sub(one, text), reasons[0] if reasons else None


def _text_line(node: Node) -> int:
    return node.line + 1 if node.style in ("|", ">") else node.line


def _own_line(source: Source, node: Node, line: int) -> int:
    return line if node.style == "|" else min(line, node.end_line or line)


def _on_own_lines(arguments: Arguments, node: Node, source: Source) -> Arguments:
    """Folded and quoted texts lose their line breaks: look for each value in the lines of the file."""
    if node.style == "|":
        return arguments
    lines = source.text.split("\n")[node.line - 1 : node.end_line]
    for name, setting in list(arguments.settings.items()):
        at = next(_lines_with(lines, name, str(setting.value)), None)
        if at is not None and setting.place.line >= node.line:
            arguments.settings[name] = type(setting)(name, setting.value, source.at(node.line + at))
    return arguments


def _lines_with(lines: list[str], name: str, value: str) -> Iterator[int]:
    flag = name.replace("_", "[-_]")
    for index, line in enumerate(lines):
        if re.search(rf"--{flag}\b", line):
            yield index
    for index, line in enumerate(lines):
        if value in line:
            yield index
