"""A shell script that starts vLLM."""

from __future__ import annotations

import re

from kvplan.deployments.container import (
    environment_of_docker,
    settings_of_connector,
    settings_of_docker,
    settings_of_environment,
)
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.images import vllm_version
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.shell_commands import ENGINE_WORD, MOST_COMMANDS, Command, commands_in
from kvplan.units import MIB

_INSTALLED = re.compile(r"^[^#\n]*\bpip3?[ \t]+install\b[^#\n]*?[\s\"']vllm==(\d+\.\d+(?:\.\w+)*)", re.MULTILINE)
_SHELL_START = re.compile(r"^#!.*\b(?:ba|z|da|k)?sh\b")
LONGEST_SCRIPT_BYTES = MIB


class ShellArgv:
    """``vllm serve MODEL --flags`` in a script."""

    name = "shell"
    order = 40

    def recognises(self, source: Source) -> bool:
        if source.suffix in (".sh", ".bash") or _SHELL_START.match(source.text):
            return ENGINE_WORD.search(source.text) is not None
        plain = source.suffix in ("", ".txt", ".cmd")
        return plain and ENGINE_WORD.search(source.text) is not None

    def read(self, source: Source) -> tuple[list[FoundDeployment], list[Unreadable]]:
        if len(source.text) > LONGEST_SCRIPT_BYTES:
            return [], [Unreadable(source.at(1), "the script is longer than 1 MiB")]
        commands = commands_in(source.text, source.path, 1)
        version = _INSTALLED.search(source.text)
        found = [
            _deployment(command, source, number if len(commands) > 1 else 0, version[1] if version else None)
            for number, command in enumerate(commands[:MOST_COMMANDS], start=1)
        ]
        return found, _unread(commands)


def _unread(commands: list[Command]) -> list[Unreadable]:
    """What stands behind the last command that is judged."""
    message = f"not read further: more than {MOST_COMMANDS:,} vLLM commands"
    return [Unreadable(one.place, message, "split the file", "fail") for one in commands[MOST_COMMANDS:][:1]]


def _deployment(command: Command, source: Source, number: int, installed: str | None) -> FoundDeployment:
    environment = {**command.environment, **environment_of_docker(command.before)}
    listed = [*settings_of_environment(environment), *settings_of_docker(command.before)]
    settings = {item.name: item for item in listed} | command.arguments.settings
    unresolved = list(command.arguments.unresolved)
    if "kv_transfer_config" in settings:
        offloaded, unknown = settings_of_connector(settings["kv_transfer_config"])
        settings = {item.name: item for item in offloaded} | settings
        unresolved += unknown
    images = (word.text for word in command.before if "vllm" in word.text and ":" in word.text)
    image = command.image or next(images, None)
    version = (vllm_version(image) if image else None) or installed
    if version is not None:
        settings["engine"] = Setting("engine", f"vllm@{version}", command.place)
    return FoundDeployment(
        name=source.stem + (f"-{number}" if number else ""),
        form=FORM.name,
        place=command.place,
        settings=settings,
        unresolved=tuple(unresolved),
        complaints=tuple(command.arguments.complaints),
        notes={"image": image} if image else {},
    )


FORM = ShellArgv()
