"""systemd service units with their drop-ins, files of variables and the scripts that they wrap."""

from __future__ import annotations

import re

from kvplan.deployments.argv_commands import Argv, started_by
from kvplan.deployments.container import gpu_ids, gpus_of_docker, settings_of_docker, threads_of
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.started import Command
from kvplan.deployments.systemd.unit_files import Entry, environment_of, unit_of, unread_rest, words_of
from kvplan.deployments.systemd.unit_limits import limits_of

_SERVICE = re.compile(r"^\[Service\][ \t\r]*$", re.MULTILINE)
_PREFIX = re.compile(r"^[-@:+!|]+")


class Systemd:
    """``[Service]`` with ``ExecStart=``."""

    name = "systemd"
    order = 24
    names = ("*.service", "*.conf")
    traces: tuple[bytes, ...] = (b"ExecStart",)

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".service", ".conf", "", ".txt", ".j2", ".in"):
            return False
        return _SERVICE.search(source.text) is not None and "[Container]" not in source.text

    def read(self, source: Source) -> Reading:
        unit = unit_of(source)
        found: list[FoundDeployment] = []
        claims = list(unit.drop_ins) if source.path not in unit.drop_ins else []
        environment, missing = environment_of(unit, "Service")
        limits = limits_of(unit)
        for entry in unit.listed("Service", "ExecStart"):
            words = words_of(_PREFIX.sub("", entry.text), entry.place, environment, missing)
            started = started_by(Argv(words, entry.source, entry.place, environment, own_entry=False))
            several = len(started.commands) > 1
            for number, command in enumerate(started.commands, start=1):
                name = _name(source) + (f"-{number}" if several else "")
                found.append(_deployment(name, command, entry, limits))
            claims += started.scripts
        return Reading(found, unread_rest(unit), tuple(dict.fromkeys(claims)))


def _name(source: Source) -> str:
    folder = source.folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return folder[:-2].removesuffix(".service") if folder.endswith(".d") else source.stem


def _deployment(name: str, command: Command, entry: Entry, limits: Given) -> FoundDeployment:
    settings = dict(limits.settings)
    given = None
    if command.container is not None:  # the container's own limits, for it is not in the unit's control group
        settings = {item.name: item for item in settings_of_docker(command.container)}
        given = gpus_of_docker(command.container)
    settings |= {item.name: item for item in threads_of(command.environment)}
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=entry.place if command.place.path != entry.source.path else command.place,
        environment=command.environment,
        image=command.image,
        image_place=command.container.image.place if command.container is not None else None,
        cards=gpu_ids(command.environment, given),
    )
    return deployment_of(
        launch,
        name=name,
        form=FORM.name,
        surroundings=settings.values(),
        unresolved=limits.unresolved,
        complaints=limits.complaints,
        source=entry.source,
    )


FORM = Systemd()
