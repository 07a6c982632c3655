"""What forms of controllers do alike once they know an engine's arguments: join them, and name what surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import all_commands
from kvplan.deployments.found import FoundDeployment, Place, Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node


def joined(weaker: Arguments, stronger: Arguments) -> Arguments:
    """Both, where the later one holds: a setting that it has, or leaves open, replaces the earlier one's."""
    known = set(stronger.settings) | {item.name for item in stronger.unresolved}
    both = Arguments()
    for part in fields(Arguments):
        low, high = getattr(weaker, part.name), getattr(stronger, part.name)
        setattr(both, part.name, {**low, **high} if isinstance(low, dict) else [*low, *high])
    kept = {name: item for name, item in weaker.settings.items() if name not in known}
    open_before = [item for item in weaker.unresolved if item.name not in known or item.name == "arguments"]
    both.settings = kept | stronger.settings
    both.unresolved = open_before + stronger.unresolved
    return both


@dataclass(frozen=True, slots=True)
class Start:
    """What a controller starts: the engine, its arguments, and the container that it makes for it."""

    engine: str
    arguments: Arguments
    container: Node
    place: Place
    source: Source
    """The file with the container's image."""
    name: str
    form: str
    given: Given
    environment: dict[str, Expansion] = field(default_factory=dict)
    model: Setting | Unresolved | None = None
    """What the object names the model by; a flag of the command overrides it."""
    unresolved: Sequence[Unresolved] = ()


def launched(start: Start) -> FoundDeployment:
    """The deployment of a container that a controller starts."""
    container = start.container
    image = container.scalar("image") or None
    known = {name: item for name, item in start.environment.items() if item.place and not item.reason}
    settings = dict(start.given.settings)
    left_open = [*start.given.unresolved, *start.unresolved]
    if isinstance(start.model, Setting):
        settings["model"] = start.model
    elif isinstance(start.model, Unresolved) and "model" not in start.arguments.settings:
        left_open.append(start.model)
    return deployment_of(
        Launch(
            engine=start.engine,
            arguments=start.arguments,
            place=start.place,
            environment={name: Word(item.text, item.place) for name, item in known.items() if item.place},
            image=image,
            image_place=start.source.at(container.key_lines.get("image", container.line)) if image else None,
        ),
        name=start.name,
        form=start.form,
        surroundings=settings.values(),
        unresolved=left_open,
        complaints=start.given.complaints,
    )


def unknown_engine(engine: str, place: Place) -> Unreadable | None:
    """Why an engine's arguments cannot be read, where there is no reader for them."""
    known = [command.engine for command in all_commands()]
    if engine in known:
        return None
    return Unreadable(place, f"the engine {engine} is not read here", f"engines: {', '.join(known)}")
