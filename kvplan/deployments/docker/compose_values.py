"""The values of a compose service: its words, image and variables, with everything filled in that the project says."""

from __future__ import annotations

import re

from kvplan.deployments.argv import Word
from kvplan.deployments.docker.compose_services import Service
from kvplan.deployments.docker.interpolation import Interpolation
from kvplan.deployments.interface import Source
from kvplan.deployments.lined_text import lined_text
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.words import ShellReader
from kvplan.deployments.variable_files import EXAMPLES, variables_in
from kvplan.deployments.yaml_tree import Node

_REFERENCE = re.compile(r"\$(?:\{|[A-Za-z_])")


def interpolation_of(source: Source) -> Interpolation:
    """The variables of the project: ``.env`` beside the file."""
    variables: dict[str, Expansion] = {}
    file = source.beside(".env")
    if isinstance(file, Source):
        variables = variables_in(file)
    hints: dict[str, str] = {}
    for name in EXAMPLES:
        example = source.beside(name)
        if isinstance(example, Source):
            hints = {key: item.text for key, item in variables_in(example).items() if item.text} | hints
    return Interpolation(variables, hints)


def argv_of(
    service: Service, key: str, interpolation: Interpolation, texts: dict[int, tuple[str, int]], before: int
) -> list[Word] | None:
    """A list of words, or a text that Compose splits as a shell would, without variables or pipes."""
    found = service.get(key)
    if found is None or (found[0].kind == "scalar" and found[0].text in ("", "null", "~") and not found[0].style):
        return None
    node, source = found
    if node.kind == "list":
        return _listed(node, source, interpolation, texts, before)
    text, line = lined_text(node, source)
    reader = ShellReader(interpolation.filled(text), source.path, line, _literally)
    reader.marks, reader.plain = interpolation.marks, True
    words = reader.command(0, inside_parentheses=True)
    for index, span in enumerate(reader.spans):
        raw = reader.text[span[0] + 1 : span[1] - 1] if span is not None else ""
        if span is not None and reader.text[span[0] : span[0] + 1] in ("'", '"') and " " in raw:
            inner = raw.replace('\\"', '"') if reader.text[span[0]] == '"' else raw
            texts[before + index] = (inner, reader.place(span[0]).line)
    return words


def _listed(
    node: Node, source: Source, interpolation: Interpolation, texts: dict[int, tuple[str, int]], before: int
) -> list[Word]:
    words: list[Word] = []
    for item in node.items[:20_000]:
        word = interpolation.word(item.text, source.at(item.line))
        if re.search(r"\s", item.text):
            text, line = lined_text(item, source)
            texts[before + len(words)] = (interpolation.filled(text), line)
        elif word.unresolved is None and _REFERENCE.search(word.text):
            word = Word(word.text, word.place, f"{word.text[:40]} is not substituted without a shell")
        words.append(word)
    return words


def _literally(name: str) -> Expansion:
    """Compose fills in all it fills in before the text is split: what is left is no variable."""
    return Expansion(f"${name}")


def image_of(service: Service, interpolation: Interpolation) -> Word | None:
    found = service.get("image")
    if found is None or found[0].kind != "scalar":
        return None
    node, source = found
    word = interpolation.word(node.text, source.at(node.line))
    return Word(word.text, source.at(node.line), word.unresolved)


def environment_of(service: Service, interpolation: Interpolation) -> dict[str, Expansion]:
    """The variables of the container: files first, then the service's own, each over those that it extends."""
    found: dict[str, Expansion] = {}
    for node, source in reversed(list(service.all("env_file"))):
        for item in node.items if node.kind == "list" else [node]:
            file = source.beside(interpolation.filled(item.scalar("path") if item.kind == "map" else item.text))
            if isinstance(file, Source):
                found |= variables_in(file, interpolation.variables)
    for node, source in reversed(list(service.all("environment"))):
        for name, value, line in _pairs(node):
            place = source.at(line)
            if value is None:
                known = interpolation.variables.get(name)
                found[name] = known or Expansion(place=place, reason=f"${name} is handed on from outside the file")
                continue
            word = interpolation.word(value, place)
            found[name] = Expansion(word.text, place=word.place, reason=word.unresolved)
    return found


def _pairs(node: Node) -> list[tuple[str, str | None, int]]:
    """``NAME: value`` or ``- NAME=value``; None where only the name is given."""
    if node.kind == "map":
        return [
            (name, value.text if value.kind == "scalar" and (value.text or value.style) else None, value.line)
            for name, value in list(node.entries.items())[:2000]
        ]
    pairs = []
    for item in node.items[:2000]:
        name, equals, value = item.text.partition("=")
        pairs.append((name.strip(), value if equals else None, item.line))
    return pairs
