"""A command line -> the deployment that it makes."""

from __future__ import annotations

import shlex

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import command_of_engine, flags_in
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.deployments.launch import Launch, deployment_of

PLACE = Place("run.sh", 1)


def started(text: str, *, image: str | None = None, **environment: str) -> FoundDeployment:
    """What ``text`` starts, with these variables."""
    words = [Word(word, PLACE) for word in shlex.split(text)]
    found = flags_in([word.text for word in words])
    assert found is not None, text
    command, start = found
    launch = Launch(
        command.engine,
        command_of_engine(command.engine).read(words[start:], words[start - 1].text),
        PLACE,
        {name: Word(value, PLACE) for name, value in environment.items()},
        image,
        PLACE if image else None,
    )
    return deployment_of(launch, name="x", form="test")


def values(text: str, *, image: str | None = None, **environment: str) -> dict[str, object]:
    """Its settings by name."""
    return {name: item.value for name, item in started(text, image=image, **environment).settings.items()}
