"""What forms of controllers do alike once they know an engine's arguments: join them, and name what surrounds them."""

from __future__ import annotations

from collections.abc import Iterable

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import all_commands
from kvplan.deployments.found import FoundDeployment, Place, Setting, Unresolved
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.resources import Given
from kvplan.deployments.shell_expansions import Expansion
from kvplan.deployments.yaml_tree import Node


def joined(weaker: Arguments, stronger: Arguments) -> Arguments:
    """Both, where the later one holds: a setting that it has, or leaves open, replaces the earlier one's."""
    known = set(stronger.settings) | {item.name for item in stronger.unresolved}
    return Arguments(
        settings={name: item for name, item in weaker.settings.items() if name not in known} | stronger.settings,
        unresolved=[item for item in weaker.unresolved if item.name not in known or item.name == "arguments"]
        + stronger.unresolved,
        complaints=weaker.complaints + stronger.complaints,
    )


def launched(
    engine: str,
    arguments: Arguments,
    container: Node,
    place: Place,
    source: Source,
    *,
    name: str,
    form: str,
    given: Given,
    environment: dict[str, Expansion] | None = None,
    model: Setting | Unresolved | None = None,
    unresolved: Iterable[Unresolved] = (),
) -> FoundDeployment:
    """The deployment of a container that a controller starts. ``model`` is what the object names it by; a flag of the
    command overrides it."""
    image = container.scalar("image") or None
    words = {key: Word(item.text, item.place) for key, item in (environment or {}).items() if item.place and not item.reason}
    settings = dict(given.settings)
    left_open = [*given.unresolved, *unresolved]
    if isinstance(model, Setting):
        settings["model"] = model
    elif isinstance(model, Unresolved) and "model" not in arguments.settings:
        left_open.append(model)
    return deployment_of(
        Launch(
            engine=engine,
            arguments=arguments,
            place=place,
            environment=words,
            image=image,
            image_place=source.at(container.key_lines.get("image", container.line)) if image else None,
        ),
        name=name,
        form=form,
        surroundings=settings.values(),
        unresolved=left_open,
        complaints=given.complaints,
    )


def unknown_engine(engine: str, place: Place) -> Unreadable | None:
    """Why an engine's arguments cannot be read, where there is no reader for them."""
    known = [command.engine for command in all_commands()]
    if engine in known:
        return None
    return Unreadable(place, f"the engine {engine} is not read here", f"engines: {', '.join(known)}")
