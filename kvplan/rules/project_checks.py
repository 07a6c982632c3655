"""What a project's configuration names must be there: rules, hosts and GPUs. Said once, not for each deployment."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.found import Place
from kvplan.deployments.names.gpus import gpu_named
from kvplan.deployments.names.instances import chip_host
from kvplan.deployments.project_config import ProjectConfig
from kvplan.errors import InputError, KvplanError, did_you_mean
from kvplan.rules import all_rules
from kvplan.rules.loaded_rows import host_by_name
from kvplan.units import shorten


def check_project(project: ProjectConfig, catalog: tuple[str, ...]) -> None:
    """InputError, with its line, for a rule that there is not, and for a host or a GPU that no catalog has."""
    named = (item.rule for item in project.ignores)
    places = {**{rule: str(setting.place) for rule, setting in project.severities.items()}}
    places |= {rule: str(item.place) for rule, item in zip(named, project.ignores, strict=True)}
    for rule, where in places.items():
        if rule not in all_rules():
            guesses = did_you_mean(rule, list(all_rules()), 1)
            advice = f"did you mean {guesses[0]}?" if guesses else None
            raise InputError(f"no rule {shorten(rule)} is known", where=where, help=advice)
    for name, place in _hosts(project):
        try:
            host_by_name(name, catalog)
        except KvplanError as error:
            raise InputError(error.message, where=str(place), help=error.help) from None
    for label in project.labels.values():
        if label.gpu is not None and gpu_named(label.gpu, extra=catalog) is None and chip_host(label.gpu) is None:
            advice = "as its label or a scheduler spells it: NVIDIA-L4, A100-80GB"
            raise InputError(f"no GPU named {shorten(label.gpu)!r}", where=str(label.place), help=advice)


def _hosts(project: ProjectConfig) -> Iterator[tuple[str, Place | None]]:
    for settings in (project.settings, *(rule.settings for rule in project.rules)):
        if "host" in settings:
            yield str(settings["host"].value), settings["host"].place
    for label in project.labels.values():
        if label.host is not None:
            yield label.host, label.place
