"""The model that a file names: by the catalog, by what the project calls it, or by what its path is called after."""

from __future__ import annotations

import os
from typing import NamedTuple

from kvplan.catalog.models import model_table
from kvplan.deployments.found import FoundDeployment
from kvplan.domain.model import Model
from kvplan.errors import KvplanError
from kvplan.rules.context import Problem
from kvplan.rules.loaded_rows import model_by_name
from kvplan.rules.named import beside, model_in_path
from kvplan.rules.which_host import Around
from kvplan.units import shorten


class WhichModel(NamedTuple):
    """The model and what was met; without a model there is no verdict."""

    model: Model | None
    problem: Problem | None = None


def which_model(found: FoundDeployment, name: str, around: Around) -> WhichModel:
    """The model of this name; where kvplan does not know it, what the project or the path itself says that it is."""
    known = beside(around.folder, name, model_table, around.catalog)
    try:
        return WhichModel(model_by_name(known, around.catalog))
    except KvplanError as error:
        instead, problem = around.facts.model(name), None
        if instead is None:
            instead = _called_after(known, around)
            problem = _by_its_name(found, known, instead) if instead is not None else None
        if instead is None:
            return WhichModel(None, _unknown(found, name, error))
    try:
        return WhichModel(model_by_name(instead, around.catalog), problem)
    except KvplanError as error:
        return WhichModel(None, _unknown(found, instead, error))


def _called_after(path: str, around: Around) -> str | None:
    """The model that an absolute path is called after; a path that is there holds what it holds."""
    if os.path.exists(path) or not (path.startswith(("/", "~")) or "://" in path):
        return None
    return model_in_path(path, around.catalog)


def _by_its_name(found: FoundDeployment, path: str, name: str) -> Problem:
    message = f"the path {shorten(path)!r} is taken for {name} by its name"
    remedy = 'say in .kvplan.toml, [models], if it is another: "PATH" = "MODEL"'
    return Problem("KV412", "info", message, found.where("model"), remedy)


def _unknown(found: FoundDeployment, name: str, error: KvplanError) -> Problem:
    advice = error.help or "add it to a catalog file, and give that to --catalog"
    named = "" if repr(shorten(name)) in error.message else f" {shorten(name)!r}"
    message = f"the model{named} can't be looked up: {error.message}"
    return Problem("KV412", "unknown", message, found.where("model"), advice)
