"""Services whose engine is hidden in an image: it is named for one, has a GPU, and says nowhere what it starts.

Such a service is a deployment of which the command is not known. What its variables say under the names of the engine's
own flags (``VLLM_MAX_MODEL_LEN``) is shown with it; whether the image reads them is part of the question.
"""

from __future__ import annotations

import re

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import all_commands
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.compose_resources import Resources
from kvplan.deployments.compose_services import Service
from kvplan.deployments.found import Unresolved
from kvplan.deployments.interpolation import Interpolation
from kvplan.deployments.shell_expansions import Expansion
from kvplan.deployments.shell_started import Command


def unread_engine(
    service: Service,
    image: Word | None,
    environment: dict[str, Expansion],
    resources: Resources,
    interpolation: Interpolation,
) -> list[Command]:
    """The one command that is not known; none for services that are named for no engine or have no GPU."""
    found = service.get("build")
    node = found[0] if found is not None else None
    build = interpolation.filled(node.text or node.scalar("context")) if node is not None else ""
    named = [service.name, image.text if image is not None else "", build.rstrip("/").rpartition("/")[2]]
    engine = _named(named)
    if engine is None or not (resources.all_cards or "gpus" in resources.settings):
        return []
    place = image.place if image is not None else service.source.at(service.line)
    what = f"the image {image.text[:60]}" if image is not None else f"the image built in {build[:60] or '.'}"
    arguments = _of_variables(engine, environment)
    reason = f"what is started is in {what}, which is not read"
    arguments.unresolved.append(Unresolved("arguments", service.name[:60], place, reason))
    words = {name: Word(item.text, item.place, item.reason) for name, item in environment.items() if item.place}
    return [Command(engine.engine, arguments, place, (), image.text if image is not None else None, words)]


def _named(names: list[str]) -> EngineCommand | None:
    squeezed = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in names]
    for command in all_commands():
        engine = re.sub(r"[^a-z0-9]", "", command.engine)
        if any(engine in name for name in squeezed):
            return command
    return None


def _of_variables(engine: EngineCommand, environment: dict[str, Expansion]) -> Arguments:
    """Variables that are named for a flag, as if they were it."""
    prefix = re.sub(r"[^A-Z0-9]", "_", engine.engine.upper()) + "_"
    words: list[Word] = []
    for name, item in environment.items():
        if name.startswith(prefix) and item.place is not None and item.text and item.reason is None:
            flag = name[len(prefix) :].lower().replace("_", "-")
            words += [Word(f"--{flag}={item.text}", item.place)]
    return engine.read(words, "api_server")
