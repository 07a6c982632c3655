"""What a project says once for all its deployment files: ``.kvplan.toml``, or ``[tool.kvplan]`` of a pyproject.toml.

    host = "h100-server"              # of files that name none, after --host
    margin = 0.05
    fail_on = "warn"
    baseline = "ci/kvplan.json"       # paths begin in this file's folder
    catalog = ["ci/hosts.toml"]

    [paths."prod/**"]                 # later patterns override earlier ones
    host = "p5.48xlarge"
    engine = "vllm@0.21"              # the version, where the file names none
    model = "llama3-8b"               # where the file's own name is no model that kvplan knows
    gpu_fraction = 0.5                # of cards that several share
    [paths."prod/**".workload]        # the tables of kvplan's own deployment file
    context = "32k"
    users = 8

    [labels]                          # what node labels, classes and profiles of this cluster mean
    "gpu-h100-80gb-high-x2" = { host = "a3-highgpu-2g" }
    "team-a-pool" = { gpu = "NVIDIA-L4", gpus = 2 }

    [models]
    "/mnt/weights/chat" = "llama3-8b"

    [severities]
    KV303 = "off"                     # or fail, warn, unknown, info

    [ignores."legacy/**"]
    KV201 = { reason = "measured in March", until = 2027-01-31 }

What a deployment file says itself holds against it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.deployments.ignores import Ignore
from kvplan.deployments.path_globs import glob_matches

LEVELS = ("fail", "warn", "unknown", "info", "off")


@dataclass(frozen=True, slots=True)
class Label:
    """What a label of this project's cluster stands for."""

    host: str | None
    """A catalog name or a path; None where only the GPU is said."""
    gpu: str | None
    """The GPU as a label or an accelerator's name spells it."""
    gpus: int | None
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PathRule:
    """What holds for the files of one pattern."""

    pattern: str
    settings: dict[str, Setting]
    """By kvplan's names: ``host``, ``engine``, ``model`` ..., and what the tables of a deployment file say."""


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """One configuration file. ``folder`` is where it stands and where its paths begin."""

    path: str = ""
    folder: str = ""
    settings: dict[str, Setting] = field(default_factory=dict)
    """``host`` and ``margin`` of the whole project."""
    fail_on: str | None = None
    baseline: str | None = None
    catalog: tuple[str, ...] = ()
    rules: tuple[PathRule, ...] = ()
    labels: dict[str, Label] = field(default_factory=dict)
    """By the label's text in lower case."""
    models: dict[str, str] = field(default_factory=dict)
    severities: dict[str, Setting] = field(default_factory=dict)
    """Rule -> level, or ``off``."""
    ignores: tuple[Ignore, ...] = ()

    def facts_for(self, path: str) -> ProjectFacts:
        """What the patterns that match a file say together."""
        settings: dict[str, Setting] = {}
        own = self.relative(path)
        for rule in self.rules:
            if glob_matches(rule.pattern, own):
                settings |= rule.settings
        return ProjectFacts(self, settings)

    def ignored(self, path: str) -> tuple[Ignore, ...]:
        """The ignores that are meant for a file."""
        own = self.relative(path)
        return tuple(item for item in self.ignores if glob_matches(item.path_glob, own))

    def relative(self, path: str) -> str:
        """A path as the patterns see it: from this file's folder on; standard input stays ``-``."""
        if path == "-":
            return path
        return os.path.relpath(os.path.realpath(path), os.path.realpath(self.folder or ".")).replace(os.sep, "/")


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What a project says about one file."""

    project: ProjectConfig = field(default_factory=ProjectConfig)
    settings: dict[str, Setting] = field(default_factory=dict)

    def host(self, default_host: str | None) -> str | None:
        """The host of a file that names none: of its pattern, else ``--host``, else the project's."""
        own, whole = self.settings.get("host"), self.project.settings.get("host")
        return str(own.value) if own else default_host or (str(whole.value) if whole else None)

    def label(self, text: str) -> Label | None:
        """What a label stands for in this project."""
        return self.project.labels.get(text.strip().lower())

    def model(self, name: str) -> str | None:
        """What a model's name stands for in this project, where kvplan does not know the name itself."""
        own = self.settings.get("model")
        return self.project.models.get(name) or (str(own.value) if own else None)

    def added_to(self, found: FoundDeployment) -> FoundDeployment:
        """The deployment with what it leaves open filled in, each with its line of the configuration file."""
        given = self.project.settings | self.settings
        added = {name: item for name, item in given.items() if name not in found.settings and name != "host"}
        engine = added.pop("engine", None)
        if engine is not None and _names_version_of(str(engine.value), found.engine):
            added["engine"] = engine
        if not added:
            return found
        unresolved = tuple(item for item in found.unresolved if item.name not in added)
        return replace(found, settings={**found.settings, **added}, unresolved=unresolved)


def load_config(paths: Sequence[str]) -> ProjectConfig:
    """The configuration that these paths share, found from each upward to its repository's root; else an empty one.

    InputError where a file can't be used, or where the paths have several.
    """
    from kvplan.deployments.project_file import config_at, config_place

    places = {place for place in map(config_place, paths) if place is not None}
    if len(places) > 1:
        from kvplan.errors import InputError

        first, second = sorted(places)[:2]
        raise InputError(
            f"the paths have different configurations: {first} and {second}",
            help="check them one by one, or keep one configuration at the repository's root",
        )
    return config_at(places.pop()) if places else ProjectConfig()


def _names_version_of(engine: str, found_engine: str) -> bool:
    """Whether ``vllm@0.21`` speaks of the engine that a file starts; kvplan's own form may start any."""
    return not found_engine or engine.partition("@")[0].lower() == found_engine
