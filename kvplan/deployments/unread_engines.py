"""Containers whose engine is hidden in an image: they are named for one, have a GPU, and say nowhere what they start.

Such a container is a deployment of which the command is not known. What its variables say under the names of the
engine's own flags (``VLLM_MAX_MODEL_LEN``) is shown with it; whether the image reads them is part of the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import all_commands
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.found import Place, Unresolved
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.started import Command


def unread_engine(
    names: Sequence[str], image: Word | None, built_in: str, place: Place, environment: dict[str, Expansion]
) -> list[Command]:
    """The one command that is not known; none where none of the ``names`` is an engine's."""
    engine = _named([*names, image.text if image is not None else ""])
    if engine is None:
        return []
    what = f"the image {image.text[:60]}" if image is not None else f"the image built in {built_in[:60] or '.'}"
    arguments = _of_variables(engine, environment)
    reason = f"what is started is in {what}, which is not read"
    arguments.unresolved.append(Unresolved("arguments", next(iter(names), "")[:60], place, reason))
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
    found = engine.read(words, "api_server")
    found.complaints.clear()  # a variable that is no flag is none of the engine's mistakes
    return found
