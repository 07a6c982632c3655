"""Compose files: every service that starts an engine.

Values are filled in from ``.env`` beside the file and from defaults in it. A service takes what it has not itself from
those that it extends. Source: the Compose specification.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kvplan.deployments.argv import Word
from kvplan.deployments.argv_commands import Argv, Started, started_by
from kvplan.deployments.container import gpu_ids, threads_of
from kvplan.deployments.docker.compose_resources import Resources
from kvplan.deployments.docker.compose_services import Service, services_of
from kvplan.deployments.docker.compose_values import argv_of, environment_of, image_of, interpolation_of
from kvplan.deployments.docker.interpolation import Interpolation
from kvplan.deployments.docker.recipe import recipe_at
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.started import Command
from kvplan.deployments.unread_engines import unread_engine
from kvplan.deployments.yaml_tree import documents
from kvplan.units import shorten

_SERVICES = re.compile(r"^[\"']?services[\"']?[ \t]*:", re.MULTILINE)
_RUNS = re.compile(r"^[ \t]+[\"']?(?:image|build|command|entrypoint|extends)[\"']?[ \t]*:", re.MULTILINE)
_MANIFEST = re.compile(r"^apiVersion[ \t]*:", re.MULTILINE)
_NOT_MODELLED = re.compile(
    r"text-generation-inference|tgi-gaudi|/lmdeploy|/tabbyapi|aphrodite-engine|/localai|/xinference"
)
MOST_SERVICES = 500


class DockerCompose:
    """``docker-compose.yml`` and files that are handed to ``docker compose -f``."""

    name = "docker-compose"
    order = 22
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = (b"services:",)

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or _MANIFEST.search(source.text):
            return False
        return _SERVICES.search(source.text) is not None and _RUNS.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        unread = [] if fault is None else [Unreadable(source.at(fault.line), fault.message)]
        interpolation = interpolation_of(source)
        found: list[FoundDeployment] = []
        claims: list[str] = []
        services = [service for root in roots[:1] for service in services_of(root, source)]
        for service in services[:MOST_SERVICES]:
            deployments, faults, scripts = _read(service, interpolation)
            found += deployments
            unread += faults
            claims += [*scripts, *service.claims]
        if len(services) > MOST_SERVICES:
            line = services[MOST_SERVICES].line
            unread.append(
                Unreadable(source.at(line), f"not read further: more than {MOST_SERVICES} services", level="fail")
            )
        return Reading(found, unread, tuple(dict.fromkeys(claims)))


def _read(
    service: Service, interpolation: Interpolation
) -> tuple[list[FoundDeployment], list[Unreadable], tuple[str, ...]]:
    image = image_of(service, interpolation)
    if image is not None and _NOT_MODELLED.search(image.text):
        message = f"{service.name} runs {shorten(image.text)}, which kvplan does not model"
        return [], [Unreadable(image.place, message)], ()
    environment = environment_of(service, interpolation)
    started = _started(service, interpolation, image, environment)
    resources = Resources(service, interpolation)
    if not started.commands:
        started = Started(_unread(service, interpolation, image, environment, resources))
    found = []
    for number, command in enumerate(started.commands, start=1):
        name = service.name + (f"-{number}" if len(started.commands) > 1 else "")
        found.append(_deployment(name, service, command, resources, image))
    return found, [], started.scripts


def _started(
    service: Service, interpolation: Interpolation, image: Word | None, environment: dict[str, Expansion]
) -> Started:
    """The engine commands of the entry point with its command; those of a Dockerfile where the service builds one."""
    texts: dict[int, tuple[str, int]] = {}
    entry = argv_of(service, "entrypoint", interpolation, texts, 0)
    command = argv_of(service, "command", interpolation, texts, len(entry or []))
    recipe = recipe_at(service, interpolation) if service.get("build") is not None else None
    base, own_entry = (image.text if image is not None else None), entry is None
    if recipe is not None:
        environment = {**recipe.environment, **environment}
        base = recipe.base or base
        if entry is None and recipe.entry:
            entry, own_entry = recipe.entry, False
        if command is None and entry is not None and not service.get("entrypoint"):
            command = recipe.command
        if command is None and entry is None:
            command = recipe.command
    words = [*(entry or []), *(command or [])]
    place = image.place if image is not None else service.source.at(service.line)
    argv = Argv(words, service.source, place, environment, base, own_entry, interpolation.marks, texts)
    started = started_by(argv)
    if recipe is None or not started.commands:
        return started
    return replace(started, scripts=(*started.scripts, recipe.path))


def _unread(
    service: Service,
    interpolation: Interpolation,
    image: Word | None,
    environment: dict[str, Expansion],
    resources: Resources,
) -> list[Command]:
    """A service with a GPU that is named for an engine, and does not say what it starts."""
    if not (resources.all_cards or "gpus" in resources.settings):
        return []
    build = service.get("build")
    folder = interpolation.filled(build[0].text or build[0].scalar("context")) if build is not None else ""
    folder = interpolation.marks.restored(folder)[0]
    place = image.place if image is not None else service.source.at(service.line)
    return unread_engine([service.name, folder.rstrip("/").rpartition("/")[2]], image, folder, place, environment)


def _deployment(
    name: str, service: Service, command: Command, resources: Resources, image: Word | None
) -> FoundDeployment:
    known_image = image.text if image is not None and image.unresolved is None else None
    settings = dict(resources.settings)
    settings |= {item.name: item for item in threads_of(command.environment)}
    cards = gpu_ids(command.environment, resources.cards) or ("all" if resources.all_cards else None)
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=_place(service, command),
        environment=command.environment,
        image=known_image or command.image,
        image_place=image.place if image is not None else None,
        cards=None if service.get("profiles") else cards,
    )
    return deployment_of(
        launch,
        name=name,
        form=FORM.name,
        surroundings=settings.values(),
        unresolved=resources.unresolved,
        complaints=resources.complaints,
        source=service.source,
    )


def _place(service: Service, command: Command) -> Place:
    """Where the command stands; of one in another file the line of the service that starts it."""
    own = command.place.path == service.source.path
    return command.place if own else service.source.at(service.line)


FORM = DockerCompose()
