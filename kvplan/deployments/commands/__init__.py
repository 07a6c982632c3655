"""How engines are started: one file an engine, found by this folder. A file defines ``COMMAND``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kvplan.deployments.commands.interface import EngineCommand
from kvplan.errors import UnknownName


@cache
def all_commands() -> tuple[EngineCommand, ...]:
    """Every engine that can be started by a command, in the order of their names."""
    modules = (import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__))
    found = [module.COMMAND for module in modules if hasattr(module, "COMMAND")]
    return tuple(sorted(found, key=lambda command: command.engine))


def command_of_engine(engine: str) -> EngineCommand:
    """How this engine is started. Raises UnknownName."""
    for command in all_commands():
        if command.engine == engine:
            return command
    raise UnknownName.of("engine", engine, [command.engine for command in all_commands()])


def command_of_image(image: str) -> EngineCommand | None:
    """The engine that a container of this image starts when it is given arguments alone."""
    return next((command for command in all_commands() if command.is_started_by(image)), None)


def version_of_image(engine: str, image: str) -> str | None:
    """The engine version that an image's tag names; None for ``latest``, a digest, or a tag of another product."""
    return command_of_engine(engine).version_of(image)


@cache
def engine_words() -> re.Pattern[str]:
    """Where a shell text starts any engine. The name of the matching group is ``e`` and the engine's place."""
    parts = (f"(?P<e{index}>{command.words.pattern})" for index, command in enumerate(all_commands()))
    return re.compile("|".join(parts))


def engine_of_match(match: re.Match[str]) -> EngineCommand:
    """The engine whose words ``engine_words`` met."""
    return all_commands()[int(str(match.lastgroup)[1:])]


def flags_in(words: Sequence[str]) -> tuple[EngineCommand, int] | None:
    """The engine that these words start, and where its flags begin."""
    for command in all_commands():
        start = command.flags_from(words)
        if start is not None:
            return command, start
    return None


def traces() -> Iterable[bytes]:
    """Every file that starts some engine has one of these."""
    return sorted({trace for command in all_commands() for trace in command.traces})
