"""One command of a script -> the engine that it starts, by the engine's own name or by ``docker run`` of its image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import engine_words, flags_in, traces
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.container import Invocation, engine_for, environment_of_docker, invocation_of
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.walk import Statement
from kvplan.deployments.variable_files import environment_words, variables_in

_NO_FLAGS = {"bash", "sh", "vllm", "python", "python3", "-c", "-lc"}
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One command that starts an engine."""

    engine: str
    arguments: Arguments
    place: Place
    before: tuple[Word, ...]
    """The words of the statement up to the engine word: ``docker run --memory 64g ...``."""
    image: str | None
    environment: dict[str, Word] = field(default_factory=dict)
    container: Invocation | None = None
    background: bool = True
    """It may run while others of the script do."""


def first_name(words: Sequence[Word]) -> str:
    """The command's own name, behind ``sudo`` and the like that only pass it on."""
    names = [word.text.rsplit("/", 1)[-1].lstrip("@-") for word in words if not _ASSIGNED.match(word.text)]
    return next((name for name in names if name not in ("sudo", "exec", "nohup", "time", "")), "")


def started(statement: Statement) -> Command | None:
    """The engine that these words start."""
    words = statement.words
    container = invocation_of(words)
    if container is not None:
        return _in_container(statement, container)
    found = engine_in(words)
    if found is None:
        return None
    engine, start = found
    arguments = engine.read(words[start:], words[start - 1].text)
    if not starts_bare(engine) and not arguments.settings and not arguments.unresolved and not arguments.complaints:
        return None
    environment = statement.state.environment() | _words_of(statement.assigned)
    for word in words[: start - 1]:
        match = _ASSIGNED.match(word.text)
        if match is not None:
            environment[match[1]] = Word(match[2], word.place, word.unresolved)
    place = _place(statement, max(0, start - 1))
    return Command(engine.engine, arguments, place, tuple(words[:start]), None, environment,
                   background=statement.background)  # fmt: skip


def engine_in(words: Sequence[Word]) -> tuple[EngineCommand, int] | None:
    """The engine that these words start, and where its flags begin: only where a shell text would show it as well."""
    texts = [word.text for word in words]
    joined = " ".join(texts) + " "
    if not any(trace in joined for trace in _traces()):  # much quicker than the words of all engines
        return None
    return flags_in(texts) if engine_words().search(joined) else None


@cache
def _traces() -> tuple[str, ...]:
    """Whatever starts an engine has one of these."""
    return tuple(trace.decode() for trace in traces())


def _place(statement: Statement, index: int) -> Place:
    """Where a word of the command stands; of one that a variable keeps where that is set."""
    span = statement.spans[index] if index < len(statement.spans) else None
    return statement.words[index].place if span is None else statement.reader.place(span[0])


def _in_container(statement: Statement, container: Invocation) -> Command | None:
    """``docker run`` of an engine's image with flags, or of any image with the engine's command."""
    words = statement.words
    entry = container.last("--entrypoint")
    inner = [*([entry] if entry is not None else []), *words[container.arguments :]]
    found = engine_in(inner)
    environment = container_environment(statement, container)
    image = None if container.image.unresolved else container.image.text
    if found is not None:
        engine, start = found
        arguments, place = engine.read(inner[start:], inner[start - 1].text), inner[start - 1].place
    elif image is None or (inner and inner[0].text.rsplit("/", 1)[-1] in _NO_FLAGS):
        return None
    else:
        own = engine_for(image, inner)
        if own is None:
            return None
        engine, arguments, place = own, own.read(inner), _place(statement, container.arguments - 1)
        said = arguments.settings or arguments.unresolved or engine.of_environment(environment)
        if not starts_bare(engine) and not said:
            return None
    detached = any(name in ("-d", "--detach") or re.fullmatch(r"-[it]*d[it]*", name) for name, _ in container.options)
    return Command(engine.engine, arguments, place, tuple(words[: container.arguments]), image, environment, container,
                   statement.background or detached)  # fmt: skip


def starts_bare(engine: EngineCommand) -> bool:
    """Whether the engine's name alone starts it, as ``ollama serve`` does."""
    return bool(getattr(engine, "starts_bare", False))


def container_environment(statement: Statement, container: Invocation) -> dict[str, Word]:
    """``-e NAME=value``, the script's own value of ``-e NAME``, and below them the files of ``--env-file``."""
    files: dict[str, Word] = {}
    for name, word in container.options:
        file = statement.source.beside(word.text) if name == "--env-file" and statement.source is not None else None
        if isinstance(file, Source):
            files |= environment_words(variables_in(file))
    given = files | environment_of_docker(container)
    for name, word in container.options:
        if name in ("-e", "--env") and "=" not in word.text:
            known = statement.state.lookup(word.text)
            if known.reason is None and known.place is not None:
                given[word.text] = Word(known.text, known.place)
    return given


def inside_of(command: Command, statement: Statement, index: int) -> Command:
    """A command inside a text, with what the words around the text say."""
    container = invocation_of(statement.words[: index + 1])
    if container is None or command.container is not None:
        return replace(command, background=command.background or statement.background)
    environment = {**command.environment, **container_environment(statement, container)}
    image = None if container.image.unresolved else container.image.text
    return replace(command, container=container, image=command.image or image, environment=environment,
                   before=tuple(statement.words[:index]))  # fmt: skip


def _words_of(assigned: dict[str, Expansion]) -> dict[str, Word]:
    return {
        name: Word(value.text, value.place, value.reason)
        for name, value in assigned.items()
        if value.words is None and value.place is not None
    }
