"""The engine version among a deployment's settings, as commands ask for it."""

from __future__ import annotations

from kvplan.deployments.found import Setting
from kvplan.engines.versions import release
from kvplan.errors import InputError


def version_in(settings: dict[str, Setting]) -> str:
    """The engine's version; empty where it is not known."""
    return str(settings["engine"].value).partition("@")[2] if "engine" in settings else ""


def at_least(version: str, since: tuple[int, ...]) -> bool:
    """Whether this version, the newest where it is empty, has what came with a release."""
    try:
        return not version or (*release(version), 0, 0, 0)[:4] >= since
    except InputError:
        return True
