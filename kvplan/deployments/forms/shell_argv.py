"""A shell script that starts an engine."""

from __future__ import annotations

import re
from functools import lru_cache

from kvplan.deployments.commands import command_of_engine, engine_words
from kvplan.deployments.container import environment_of_docker, settings_of_docker
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell_commands import MOST_COMMANDS, Command, commands_in
from kvplan.units import MIB

_INSTALLED = r"^[^#\n]*\bpip3?[ \t]+install\b[^#\n]*?[\s\"']{package}(?:\[[\w,-]*\])?==(\d+\.\d+(?:\.\w+)*)"
_SHELL_START = re.compile(r"^#!.*\b(?:ba|z|da|k)?sh\b")
LONGEST_SCRIPT_BYTES = MIB


class ShellArgv:
    """``vllm serve MODEL --flags`` in a script."""

    name = "shell"
    order = 40
    names = ("*.sh", "*.bash")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix in (".sh", ".bash") or _SHELL_START.match(source.text):
            return engine_words().search(source.text) is not None
        plain = source.suffix in ("", ".txt", ".cmd")
        return plain and engine_words().search(source.text) is not None

    def read(self, source: Source) -> Reading:
        if len(source.text) > LONGEST_SCRIPT_BYTES:
            return Reading([], [Unreadable(source.at(1), "the script is longer than 1 MiB")])
        commands = commands_in(source.text, source.path, 1)
        found = [
            _deployment(command, source, number if len(commands) > 1 else 0)
            for number, command in enumerate(commands[:MOST_COMMANDS], start=1)
        ]
        return Reading(found, _unread(commands))


def _unread(commands: list[Command]) -> list[Unreadable]:
    """What stands behind the last command that is judged."""
    message = f"not read further: more than {MOST_COMMANDS:,} engine commands"
    return [Unreadable(one.place, message, "split the file", "fail") for one in commands[MOST_COMMANDS:][:1]]


def _deployment(command: Command, source: Source, number: int) -> FoundDeployment:
    environment = {**command.environment, **environment_of_docker(command.before)}
    engine = command_of_engine(command.engine)
    images = (word.text for word in command.before if ":" in word.text and engine.is_started_by(word.text))
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=command.place,
        environment=environment,
        image=command.image or next(images, None),
        version=_installed(source.text, command.engine),
    )
    name = source.stem + (f"-{number}" if number else "")
    surroundings = settings_of_docker(command.before)
    return deployment_of(launch, name=name, form=FORM.name, surroundings=surroundings, source=source)


@lru_cache(maxsize=8)
def _installed(text: str, package: str) -> str | None:
    """The version that a script pins when it installs the engine."""
    match = re.search(_INSTALLED.format(package=re.escape(package)), text, re.MULTILINE)
    return match[1] if match else None


FORM = ShellArgv()
