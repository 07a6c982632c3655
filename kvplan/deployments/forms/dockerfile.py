"""Dockerfiles whose last stage starts an engine. Source: Dockerfile reference."""

from __future__ import annotations

import re
from dataclasses import replace

from kvplan.deployments.argv import Word
from kvplan.deployments.argv_commands import Argv, Started, started_by
from kvplan.deployments.container import visible_gpus
from kvplan.deployments.docker.recipe import Recipe, recipe_of
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.commands import read_shell
from kvplan.deployments.shell.started import Command

_FROM = re.compile(r"^[ \t]*FROM[ \t]+\S", re.MULTILINE | re.IGNORECASE)
_NAMED = re.compile(r"^(?:dockerfile|containerfile)(?:[.-].*)?$|\.(?:dockerfile|containerfile)$")
_STARTS = re.compile(r"^[ \t]*(?:CMD|ENTRYPOINT|ENV)[ \t]", re.MULTILINE | re.IGNORECASE)


class Dockerfile:
    """``FROM`` an engine's image, or any image with the engine as its command."""

    name = "dockerfile"
    order = 26
    names = ("dockerfile*", "containerfile*", "*.dockerfile", "*.containerfile")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if not _NAMED.search(source.name.lower()) and source.suffix not in ("", ".txt"):
            return False
        return _FROM.search(source.text) is not None and _STARTS.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        recipe = recipe_of(source)
        words = [*(recipe.entry or []), *(recipe.command or [])]
        place = recipe.base_place or source.at(1)
        argv = Argv(words, source, place, recipe.environment, recipe.base, recipe.entry is None)
        started = started_by(argv)
        if not started.commands:
            started = Started(_written(recipe, words, source))
        found = [
            _deployment(source, command, recipe.base_place, number if len(started.commands) > 1 else 0)
            for number, command in enumerate(started.commands, start=1)
            if command.arguments.settings or command.arguments.unresolved
        ]
        message = "not read further: too many instructions"
        unread = [Unreadable(source.at(recipe.cut), message, level="fail")] if recipe.cut else []
        return Reading(found, unread, started.scripts)


def _written(recipe: Recipe, words: list[Word], source: Source) -> list[Command]:
    """The commands of a script that the Dockerfile itself writes, where the container starts it."""
    for index, word in enumerate(words[:3]):
        known = recipe.files.get(word.text.rpartition("/")[2])
        if known is not None:
            read = read_shell(known[0], source.path, known[1], recipe.environment, arguments=words[index + 1 :])
            return [replace(one, image=one.image or recipe.base) for one in read.commands]
    return []


def _deployment(source: Source, command: Command, base: Place | None, number: int) -> FoundDeployment:
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=command.place,
        environment=command.environment,
        image=command.image,
        image_place=base,
    )
    name = source.name + (f"-{number}" if number else "")
    return deployment_of(
        launch, name=name, form=FORM.name, surroundings=visible_gpus(command.environment), source=source
    )


FORM = Dockerfile()
