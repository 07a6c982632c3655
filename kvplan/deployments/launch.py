"""An engine that a file starts -> a FoundDeployment: what every form does alike once it has found the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine, version_of_image
from kvplan.deployments.container import visible_gpus
from kvplan.deployments.found import Complaint, FoundDeployment, Place, Setting, Unresolved
from kvplan.deployments.interface import Source


@dataclass(frozen=True, slots=True)
class Launch:
    """What starts an engine."""

    engine: str
    arguments: Arguments
    place: Place
    environment: dict[str, Word] = field(default_factory=dict)
    image: str | None = None
    image_place: Place | None = None
    version: str | None = None
    """Where something else than the image's tag names it, such as a pinned package."""
    cards: str | None = None
    """The GPUs by their numbers, ``0,1``, where the file says which: others in it may share them."""


def deployment_of(
    launch: Launch,
    *,
    name: str,
    form: str,
    surroundings: Iterable[Setting] = (),
    unresolved: Iterable[Unresolved] = (),
    complaints: Iterable[Complaint] = (),
    source: Source | None = None,
) -> FoundDeployment:
    """The deployment. A flag overrides a variable, and both override ``surroundings``: what the container is given.

    ``source`` is the file that the command stands in: what it names beside itself is named from there.
    """
    command = command_of_engine(launch.engine)
    settings = {item.name: item for item in surroundings}
    from_variables = [*command.of_environment(launch.environment), *visible_gpus(launch.environment)]
    settings |= {item.name: item for item in from_variables}
    settings |= launch.arguments.settings
    derived, unknown = command.derived(settings)
    settings = {item.name: item for item in derived} | settings
    tagged = version_of_image(launch.engine, launch.image) if launch.image else None
    version = tagged or launch.version
    if version is not None:
        place = launch.image_place if tagged and launch.image_place else launch.place
        settings["engine"] = Setting("engine", f"{launch.engine}@{version}", place)
    return FoundDeployment(
        name=name,
        form=form,
        place=launch.place,
        settings=settings,
        unresolved=(*launch.arguments.unresolved, *unresolved, *unknown, *_slices(launch)),
        complaints=(*launch.arguments.complaints, *complaints),
        engine=launch.engine,
        notes={name: text for name, text in (("image", launch.image), ("gpu_ids", launch.cards)) if text},
    )


def _slices(launch: Launch) -> list[Unresolved]:
    """Slices of GPUs that are named by UUID: their profile is not in the name."""
    if launch.cards is None or "MIG-" not in launch.cards:
        return []
    reason = "a slice of a GPU has less memory than the card"
    return [Unresolved("mig_profile", launch.cards[:60], launch.place, reason)]
