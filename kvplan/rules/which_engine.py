"""The engine's version: as the file names it, else the newest that kvplan models, and what that leaves open."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.image_tags import floating_tag
from kvplan.deployments.words import Words
from kvplan.domain.host import Host
from kvplan.engines import find_engine, natural_engine
from kvplan.engines.versions import release
from kvplan.errors import InputError
from kvplan.rules.context import Problem
from kvplan.units import shorten

_PIN = "pin the version: defaults change between versions"


class WhichEngine(NamedTuple):
    """The words with an engine that can be judged, what was met, and whether a verdict would be a guess."""

    words: Words
    problem: Problem | None = None
    stops: bool = False


def which_engine(found: FoundDeployment, words: Words, host: Host | None) -> WhichEngine:
    """A version newer than all modelled ones is judged as the newest, an older one not at all."""
    name, _, version = (words.engine or "").partition("@")
    try:
        find_engine(name or "vllm")
    except InputError as error:
        problem = Problem("KV416", "fail", error.message, found.where("engine"), error.help)
        return WhichEngine(words, problem, stops=True)
    if not version:
        engine = name or (natural_engine(host) if host is not None else "")
        unnamed = _unnamed(found, engine) if engine else None
        said = unnamed is not None and (host is not None or unnamed.level == "warn")
        return WhichEngine(words, unnamed if said else None)
    try:
        find_engine(name).resolve_version(version)
    except InputError as error:
        engine = name.lower()
        if _is_newer(engine, version):
            why = f"{error.message} yet"
            return WhichEngine(words._replace(engine=engine), _newest(found, engine, why, "unknown"))
        problem = Problem("KV414", "unknown", error.message, found.where("engine", "model"), error.help)
        return WhichEngine(words, problem, stops=True)
    return WhichEngine(words)


def version_before(since: str) -> str:
    """A version of the series before: ``0.20`` -> ``0.19``."""
    major, minor = (*release(since), 0)[:2]
    return f"{major}.{minor - 1}" if minor else f"{major - 1}.99"


def _unnamed(found: FoundDeployment, engine: str) -> Problem:
    image = found.notes.get("image")
    tag = found.notes.get("tag_floats") or (floating_tag(image) if image else None)
    if tag is None:
        return _newest(found, engine, "no engine version is given", "info")
    why = f"the image {shorten(str(image))!r} is not pinned: {tag} is another version tomorrow"
    return _newest(found, engine, why, "warn")


def _is_newer(engine: str, version: str) -> bool:
    try:
        return release(version) > release(find_engine(engine).newest_version)
    except InputError:
        return False


def _newest(found: FoundDeployment, engine: str, why: str, level: str) -> Problem:
    known = find_engine(engine)
    judged_as = f"{known.name} {known.newest_version}"
    place = found.image_place if found.image_place and "engine" not in found.settings else found.where("engine")
    return Problem("KV414", level, f"{why}: judged as {judged_as}", place, _PIN)
