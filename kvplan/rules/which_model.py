"""The model that a file names: by the catalog, by what the project calls it, or by what its path is called after."""

from __future__ import annotations

import os
from typing import NamedTuple

from kvplan.catalog.models import FETCH_HELP, model_table
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.names.gguf import GgufName, catalog_name
from kvplan.deployments.names.quantized import quantized_name
from kvplan.domain.model import Model
from kvplan.errors import KvplanError
from kvplan.rules.context import Problem
from kvplan.rules.gguf_models import catalog_names
from kvplan.rules.loaded_rows import model_by_name
from kvplan.rules.locking import locking_remedy
from kvplan.rules.named import beside, model_in_path
from kvplan.rules.which_host import Around
from kvplan.units import shorten

_MADE_FROM = ("bf16", "fp16", "fp8")
"""How checkpoints are stored that others quantize."""


class WhichModel(NamedTuple):
    """The model and what was met; without a model there is no verdict."""

    model: Model | None
    problem: Problem | None = None
    weights: str | None = None
    """The scheme that the name of a quantized checkpoint ends with; its own figures are not known as well as that."""


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
            return _quantized(found, known, around) or WhichModel(None, _unknown(found, name, error))
    try:
        return WhichModel(model_by_name(instead, around.catalog), problem)
    except KvplanError as error:
        return WhichModel(None, _unknown(found, instead, error))


def _called_after(path: str, around: Around) -> str | None:
    """The model that an absolute path is called after, or a copy on the Hub under another owner.

    A path that is there holds what it holds.
    """
    if os.path.exists(path):
        return None
    if path.startswith(("/", "~")) or "://" in path:
        return model_in_path(path, around.catalog)
    owner, _, name = path.partition("/")
    return catalog_names(around.catalog).find(name) if owner and name and "/" not in name else None


def _quantized(found: FoundDeployment, name: str, around: Around) -> WhichModel | None:
    """A checkpoint that is called after a model of the catalog and a weight scheme."""
    parts = None if os.path.exists(name) else quantized_name(name)
    if parts is None:
        return None
    spellings = GgufName((parts.base, f"{parts.base}-Instruct"), None, "")
    base, _ = catalog_name(spellings, catalog_names(around.catalog))
    model = model_by_name(base, around.catalog) if base is not None else None
    if model is None or model.dtype not in _MADE_FROM:
        return None
    message = f"{shorten(name)!r} is taken for {parts.base} with {parts.scheme} weights by its name"
    remedy = 'say in .kvplan.toml, [models], if it is another ("NAME" = "MODEL"), or lock it: kvplan lock'
    return WhichModel(model, Problem("KV412", "info", message, found.where("model"), remedy), parts.scheme)


def _by_its_name(found: FoundDeployment, path: str, name: str) -> Problem:
    message = f"{shorten(path)!r} is taken for {name} by its name"
    remedy = 'say in .kvplan.toml, [models], if it is another: "NAME" = "MODEL"'
    return Problem("KV412", "info", message, found.where("model"), remedy)


def _unknown(found: FoundDeployment, name: str, error: KvplanError) -> Problem:
    """A name that means nothing here: what locks it, and what it may be a slip of."""
    advice = locking_remedy(found, name)
    likely = (error.help or "").removesuffix(f"; {FETCH_HELP}")
    if advice and not (os.path.exists(name) or likely.startswith("did you mean")):
        likely = ""
    advice = "; ".join(filter(None, (advice, likely))) or "add it to a catalog file, and give that to --catalog"
    named = "" if repr(shorten(name)) in error.message else f" {shorten(name)!r}"
    message = f"the model{named} can't be looked up: {error.message}"
    return Problem("KV412", "unknown", message, found.where("model"), advice)
