"""What a Dockerfile starts: its base, the variables that it sets, ``ENTRYPOINT`` and ``CMD`` of its last stage."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from kvplan.deployments.argv import Word
from kvplan.deployments.docker.compose_services import Service
from kvplan.deployments.docker.interpolation import Interpolation
from kvplan.deployments.docker.lines import MOST_INSTRUCTIONS, instructions
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.expansions import Expansion, Lookup
from kvplan.deployments.shell.words import ShellReader

_PAIR = re.compile(r"^([A-Za-z_][\w.]*)=(.*)$", re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{|[A-Za-z_])")


@dataclass(slots=True)
class Recipe:
    """A stage."""

    base: str | None = None
    base_place: Place | None = None
    entry: list[Word] | None = None
    command: list[Word] | None = None
    environment: dict[str, Expansion] = field(default_factory=dict)
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Names of files that here-documents become, with their text and its line."""
    cut: int = 0
    """The line from which on it is not read; 0 for none."""
    path: str = ""
    """Of the Dockerfile, where another file names it."""


def recipe_of(source: Source, arguments: dict[str, Expansion] | None = None) -> Recipe:
    """The last stage of a Dockerfile, with what it takes from the stages before it. ``arguments`` are build args."""
    stages: dict[str, Recipe] = {}
    known: dict[str, Expansion] = dict(arguments or {})
    now = Recipe()
    found = instructions(source.text)
    for word, text, line, target, body, body_line in found:
        if target:
            now.files[target.rpartition("/")[2]] = (body, body_line)
        if word == "FROM":
            now = _stage(text, source, line, stages, known)
        elif word == "ARG":
            name, equals, value = text.strip().partition("=")
            if equals and name not in (arguments or {}):
                known[name] = _filled(value, source, line, {**known, **now.environment})
        elif word == "ENV":
            _variables(text, source, line, now, known)
        elif word in ("ENTRYPOINT", "CMD"):
            _start(word, text, source, line, now, known)
    now.cut = found[-1].line if len(found) >= MOST_INSTRUCTIONS else 0
    return now


def recipe_at(service: Service, interpolation: Interpolation) -> Recipe | None:
    """The Dockerfile that a service is built from, where it is in the tree."""
    found = service.get("build")
    if found is None:
        return None
    node, source = found
    folder = interpolation.filled(node.text if node.kind == "scalar" else node.scalar("context") or ".")
    name = interpolation.filled(node.scalar("dockerfile")) or "Dockerfile"
    file = source.beside(f"{folder}/{name}")
    if not isinstance(file, Source):
        return None
    arguments: dict[str, Expansion] = {}
    given = node.get("args")
    for key, value in given.entries.items() if given is not None else ():
        word = interpolation.word(value.text, source.at(value.line))
        arguments[key] = Expansion(word.text, place=word.place, reason=word.unresolved)
    return replace(recipe_of(file, arguments), path=file.path)


def _stage(text: str, source: Source, line: int, stages: dict[str, Recipe], known: dict[str, Expansion]) -> Recipe:
    words = [word for word in text.split() if not word.startswith("--")]
    base = _filled(words[0] if words else "", source, line, known)
    before = stages.get(base.text.lower())
    if before is not None:
        now = replace(before, environment=dict(before.environment), files=dict(before.files))
    else:
        now = Recipe(base.text if base.reason is None else None, source.at(line))
    if len(words) > 2 and words[1].lower() == "as":
        stages[words[2].lower()] = now
    return now


def _variables(text: str, source: Source, line: int, now: Recipe, known: dict[str, Expansion]) -> None:
    """``ENV A=1 B="x y"``, or the old ``ENV A 1``."""
    reader = ShellReader(text, source.path, line, _lookup({**known, **now.environment}))
    words = reader.command(0)
    if words and "=" not in words[0].text and len(words) > 1:
        now.environment[words[0].text] = Expansion(" ".join(word.text for word in words[1:]), place=words[0].place)
        return
    for word in words:
        match = _PAIR.match(word.text)
        if match is not None:
            now.environment[match[1]] = Expansion(match[2], place=word.place, reason=word.unresolved)


def _start(word: str, text: str, source: Source, line: int, now: Recipe, known: dict[str, Expansion]) -> None:
    """A JSON list is started as it is, and its variables stay as they are; anything else is a text for a shell."""
    plain = text.replace("\\\n", " \n")
    listed = None
    if plain.lstrip().startswith("["):
        try:
            listed = json.loads(plain)
        except (ValueError, RecursionError):
            listed = None
    if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
        words = _placed(listed, text, source, line)
    else:
        place = source.at(line)
        words = [Word("/bin/sh", place), Word("-c", place), Word(text, place)]
    if word == "ENTRYPOINT":
        now.entry, now.command = words, None
    else:
        now.command = words


def _placed(listed: list[str], text: str, source: Source, line: int) -> list[Word]:
    """Each item with the line on which it stands."""
    words: list[Word] = []
    at = 0
    for item in listed[:20_000]:
        found = text.find(json.dumps(item, ensure_ascii=False), at)
        at = found if found >= 0 else at
        text_for_shell = bool(words) and words[-1].text[:1] == "-" and words[-1].text[-1:] == "c"
        literal = text_for_shell or not _REFERENCE.search(item)
        reason = None if literal else f"{item[:40]} is not substituted without a shell"
        words.append(Word(item, source.at(line + text.count("\n", 0, at)), reason))
    return words


def _lookup(known: dict[str, Expansion]) -> Lookup:
    def one(name: str) -> Expansion:
        return known.get(name) or Expansion(reason=f"${name} has no literal value in this file", optional=True)

    return one


def _filled(text: str, source: Source, line: int, known: dict[str, Expansion]) -> Expansion:
    words = ShellReader(text, source.path, line, _lookup(known)).command(0, first=True)
    if not words:
        return Expansion("", place=source.at(line))
    return Expansion(words[0].text, place=words[0].place, reason=words[0].unresolved)
