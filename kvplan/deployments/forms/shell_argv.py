"""A shell script that starts an engine."""

from __future__ import annotations

import re

from kvplan.deployments.commands import engine_words
from kvplan.deployments.container import gpu_ids, gpus_of_docker, settings_of_docker, threads_of
from kvplan.deployments.embedded_sources import read_documents
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.commands import MOST_COMMANDS, read_shell
from kvplan.deployments.shell.slurm_directives import settings_of_slurm
from kvplan.deployments.shell.started import Command
from kvplan.units import MIB

_INSTALLED = r"^[^#\n]*\bpip3?[ \t]+install\b[^#\n]*?[\s\"']{package}(?:\[[\w,-]*\])?==(\d+\.\d+(?:\.\w+)*)"
_SHELL_START = re.compile(r"^#!.*\b(?:ba|z|da|k)?sh\b")
LONGEST_SCRIPT_BYTES = MIB


class ShellArgv:
    """``vllm serve MODEL --flags`` in a script."""

    name = "shell"
    order = 40
    names = ("*.sh", "*.bash", "*.slurm", "*.sbatch")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix in (".sh", ".bash", ".slurm", ".sbatch") or _SHELL_START.match(source.text):
            return True
        plain = source.suffix in ("", ".txt", ".cmd")
        return plain and engine_words().search(source.text) is not None

    def read(self, source: Source) -> Reading:
        if len(source.text) > LONGEST_SCRIPT_BYTES:
            return Reading([], [Unreadable(source.at(1), "the script is longer than 1 MiB")])
        commands, documents, exhausted = read_shell(source.text, source.path, 1, source=source)
        versions = {engine: _installed(source.text, engine) for engine in {one.engine for one in commands}}
        found = [
            _deployment(command, source, versions[command.engine], number if len(commands) > 1 else 0)
            for number, command in enumerate(commands[:MOST_COMMANDS], start=1)
        ]
        unread = _unread(commands)
        if exhausted:
            unread.append(
                Unreadable(source.at(1), "not read to its end: it calls its own parts too often", level="fail")
            )
        inside, faults, claims = read_documents(documents, source)
        sourced = (item.place.path for item in found if item.place.path != source.path)
        return Reading([*found, *inside], [*unread, *faults], tuple(dict.fromkeys([*claims, *sourced])))


def _unread(commands: list[Command]) -> list[Unreadable]:
    """What stands behind the last command that is judged."""
    message = f"not read further: more than {MOST_COMMANDS:,} engine commands"
    return [Unreadable(one.place, message, "split the file", "fail") for one in commands[MOST_COMMANDS:][:1]]


def _installed(text: str, engine: str) -> str | None:
    """The version of an engine that the script installs with pip."""
    match = re.search(_INSTALLED.format(package=re.escape(engine)), text, re.MULTILINE)
    return match[1] if match else None


def _deployment(command: Command, source: Source, version: str | None, number: int) -> FoundDeployment:
    given = gpus_of_docker(command.container) if command.container is not None else None
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=command.place,
        environment=command.environment,
        image=command.image,
        image_place=command.container.image.place if command.container is not None else None,
        version=version,
        cards=gpu_ids(command.environment, given) if command.background else None,
    )
    name = source.stem + (f"-{number}" if number else "")
    return deployment_of(launch, name=name, form=FORM.name, surroundings=_surroundings(command, source), source=source)


def _surroundings(command: Command, source: Source) -> list[Setting]:
    """What the command's job, container and process are given of the host."""
    found = settings_of_docker(command.container) if command.container is not None else []
    return [*settings_of_slurm(source), *found, *threads_of(command.environment)]


FORM = ShellArgv()
