"""A text -> the deployments that its form finds."""

from __future__ import annotations

from kvplan.deployments.forms import form_of
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Source, Unreadable


def read(text: str, path: str) -> tuple[list[FoundDeployment], list[Unreadable]]:
    """What the form that recognises a file reads; nothing where none does."""
    source = Source(path, text)
    form = form_of(source)
    if form is None:
        return [], []
    reading = form.read(source)
    return reading.deployments, reading.unreadable


def one(text: str, path: str) -> FoundDeployment:
    """The only deployment of a file."""
    found, faults = read(text, path)
    assert not faults
    assert len(found) == 1, found
    return found[0]


def values(item: FoundDeployment) -> dict[str, object]:
    """Settings by name."""
    return {name: setting.value for name, setting in item.settings.items()}


def lines(item: FoundDeployment) -> dict[str, int]:
    """Lines of the settings by name."""
    return {name: setting.place.line for name, setting in item.settings.items()}


def open_names(item: FoundDeployment) -> list[str]:
    """What could not be resolved."""
    return [unresolved.name for unresolved in item.unresolved]
