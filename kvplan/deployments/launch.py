"""An engine that a file starts -> a FoundDeployment: what every form does alike once it has found the command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine, version_of_image
from kvplan.deployments.commands.interface import ReadsFiles, Settles
from kvplan.deployments.config_words import root_of
from kvplan.deployments.container import visible_gpus
from kvplan.deployments.found import Complaint, FoundDeployment, Place, Setting, Unresolved
from kvplan.deployments.image_tags import floating_tag
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch_files import with_config_file, with_lmcache_file
from kvplan.engines import all_engines

_COMMON_VARIABLES = {
    "OMP_NUM_THREADS": "omp_num_threads",
    "PYTORCH_CUDA_ALLOC_CONF": "pytorch_alloc_conf",
    "PYTORCH_ALLOC_CONF": "pytorch_alloc_conf",
}
"""Variables that PyTorch and OpenMP read in every engine."""


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
    """The GPUs by their numbers, ``0,1``, where the file says which, or ``all``: others in it may share them."""


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

    With ``source``, the file that the command stands in, the files that it names beside itself are read as well.
    """
    command = command_of_engine(launch.engine)
    if source is not None:
        arguments = with_config_file(launch.arguments, command, source.beside)
        environment, files = with_lmcache_file(launch.environment, source.beside)
        arguments = replace(arguments, files=(*arguments.files, *files))
        launch = replace(launch, arguments=arguments, environment=environment)
    settings = _given(launch, surroundings) | _engine(launch)
    if isinstance(command, Settles):
        settings = command.settled(settings)
    derived, unknown = command.derived(settings)
    settings = {item.name: item for item in derived} | settings
    return FoundDeployment(
        name=name,
        form=form,
        place=launch.place,
        settings=settings,
        unresolved=(*launch.arguments.unresolved, *unresolved, *unknown, *_slices(launch)),
        complaints=(*launch.arguments.complaints, *complaints),
        engine=launch.engine if _serves(launch.engine) else "",
        notes=_notes(launch),
        image_place=launch.image_place,
        flags=launch.arguments.flags,
        files=launch.arguments.files,
        variables={name: word.place for name, word in launch.environment.items()},
    )


def _serves(engine: str) -> bool:
    """Whether it is an engine that serves a model; LMCache's server is none."""
    return engine in {known.name for known in all_engines().values()}


def _given(launch: Launch, surroundings: Iterable[Setting]) -> dict[str, Setting]:
    settings = {item.name: item for item in surroundings}
    command = command_of_engine(launch.engine)
    from_variables = [*command.of_environment(launch.environment), *visible_gpus(launch.environment)]
    settings |= {item.name: item for item in (*_common(launch.environment), *from_variables)}
    return settings | launch.arguments.settings


def _common(environment: dict[str, Word]) -> list[Setting]:
    """Threads and the allocator's configuration. A count that is none, such as a placeholder, is left out."""
    found = []
    for variable, name in _COMMON_VARIABLES.items():
        word = environment.get(variable)
        if word is None or word.unresolved is not None or not word.text:
            continue
        text = word.text.strip()
        if name != "omp_num_threads":
            found.append(Setting(name, text, word.place))
        elif re.fullmatch(r"\d{1,6}", text):
            found.append(Setting(name, int(text), word.place))
    return found


def _engine(launch: Launch) -> dict[str, Setting]:
    """The engine with its version: as the image's tag has it, else as something else does."""
    tagged = version_of_image(launch.engine, launch.image) if launch.image else None
    version = tagged or launch.version
    if version is None:
        return {}
    place = launch.image_place if tagged and launch.image_place else launch.place
    return {"engine": Setting("engine", f"{launch.engine}@{version}", place)}


def _notes(launch: Launch) -> dict[str, str]:
    notes = {} if _serves(launch.engine) else {"engine": launch.engine}
    notes |= {"gpu_ids": launch.cards} if launch.cards else {}
    if not launch.image:
        return notes
    floating = floating_tag(launch.image)
    return notes | {"image": launch.image} | ({"tag_floats": floating} if floating else {})


def _slices(launch: Launch) -> list[Unresolved]:
    """Slices of GPUs that are named by UUID: their profile is not in the name."""
    if launch.cards is None or "MIG-" not in launch.cards:
        return []
    reason = "a slice of a GPU has less memory than the card"
    return [Unresolved("mig_profile", launch.cards[:60], launch.place, reason)]


def read_config(source: Source, engine: str, form: str) -> Reading:
    """A file of an engine's own settings, such as ``--config`` names, as a deployment."""
    root, command = root_of(source), command_of_engine(engine)
    assert isinstance(command, ReadsFiles)
    if root is None or isinstance(root, Unreadable):
        return Reading([], [root] if root is not None else [])
    launch = Launch(engine, command.of_file(root, source), source.at(min(root.key_lines.values(), default=1)))
    return Reading([deployment_of(launch, name=source.title, form=form, source=source)])
