"""podman quadlets: ``.container`` files. Source: podman-systemd.unit(5)."""

from __future__ import annotations

import re

from kvplan.deployments.argv import Word
from kvplan.deployments.argv_commands import Argv, Started, started_by
from kvplan.deployments.container import (
    Invocation,
    environment_of_docker,
    gpu_ids,
    gpus_of_docker,
    invocation_of,
    settings_of_docker,
    threads_of,
)
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.started import Command
from kvplan.deployments.systemd.unit_files import Unit, environment_of, unit_of, unread_rest, words_of
from kvplan.deployments.systemd.unit_limits import limits_of
from kvplan.deployments.unread_engines import unread_engine

_CONTAINER = re.compile(r"^\[Container\][ \t\r]*$", re.MULTILINE)


class Quadlet:
    """``[Container]`` with ``Image=``."""

    name = "quadlet"
    order = 23
    names = ("*.container", "*.conf")
    traces: tuple[bytes, ...] = (b"[Container]",)

    def recognises(self, source: Source) -> bool:
        return source.suffix in (".container", ".conf", "") and _CONTAINER.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        unit = unit_of(source)
        image = _image(unit, source)
        run = _invocation(unit, image)
        environment, missing = environment_of(unit, "Container")
        for name, word in environment_of_docker(run).items():
            environment[name] = Expansion(word.text, place=word.place, reason=word.unresolved)
        entry, command = unit.last("Container", "Entrypoint"), unit.last("Container", "Exec")
        words = [
            word
            for item in (entry, command)
            if item is not None
            for word in words_of(item.text, item.place, None if item is entry else {}, missing)
        ]
        words = [word if word.unresolved is None else Word(word.text, word.place, word.unresolved) for word in words]
        text = None if image.unresolved else image.text
        argv = Argv(words, source, image.place, environment, text, own_entry=entry is None)
        started = started_by(argv)
        if not started.commands and unit.listed("Container", "AddDevice"):
            started = Started(unread_engine([source.stem], image, "", image.place, environment))
        limits = limits_of(unit)
        found = [_deployment(source, unit, command, run, limits) for command in started.commands]
        claims = [*(unit.drop_ins if source.path not in unit.drop_ins else []), *started.scripts]
        return Reading(found, unread_rest(unit), tuple(dict.fromkeys(claims)))


def _image(unit: Unit, source: Source) -> Word:
    """``Image=``; a ``.image`` or ``.build`` file beside it names the image itself."""
    entry = unit.last("Container", "Image")
    if entry is None:
        return Word("", source.at(1))
    text = entry.text.strip()
    section = {"image": "Image", "build": "Build"}.get(text.rsplit(".", 1)[-1])
    file = entry.source.beside(text) if section is not None else None
    if isinstance(file, Source) and section is not None:
        inner = unit_of(file).last(section, "Image" if section == "Image" else "ImageTag")
        if inner is not None:
            return Word(inner.text.strip(), inner.place)
    return Word(text, entry.place)


def _invocation(unit: Unit, image: Word) -> Invocation:
    """The ``podman run`` that the quadlet stands for."""
    words = [Word("podman", image.place), Word("run", image.place)]
    for entry in unit.listed("Container", "PodmanArgs"):
        words += words_of(entry.text, entry.place)
    for key, option in (("AddDevice", "--device"), ("Ulimit", "--ulimit"), ("Memory", "--memory")):
        for entry in unit.listed("Container", key):
            words.append(Word(f"{option}={entry.text.strip().lstrip('-')}", entry.place))
    shm = unit.last("Container", "ShmSize")
    if shm is not None:
        words.append(Word(f"--shm-size={shm.text.strip()}", shm.place))
    found = invocation_of([*words, Word(image.text or "image", image.place)])
    return found if found is not None else Invocation([], image, len(words))


def _deployment(source: Source, unit: Unit, command: Command, run: Invocation, limits: Given) -> FoundDeployment:
    settings = dict(limits.settings) | {item.name: item for item in settings_of_docker(run)}
    settings |= {item.name: item for item in threads_of(command.environment)}
    cards = gpus_of_docker(run)
    if cards is not None:
        device = run.last("--device")
        settings["gpus"] = Setting(
            "gpus", cards.count(",") + 1, device.place if device is not None else run.image.place
        )
    name = unit.last("Container", "ContainerName")
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=command.place,
        environment=command.environment,
        image=command.image,
        image_place=run.image.place,
        cards=gpu_ids(command.environment, cards),
    )
    return deployment_of(
        launch,
        name=name.text.strip() if name is not None and "%" not in name.text else source.stem,
        form=FORM.name,
        surroundings=settings.values(),
        unresolved=limits.unresolved,
        complaints=limits.complaints,
        source=source,
    )


FORM = Quadlet()
