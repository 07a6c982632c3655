"""One file per architecture family; the folder is the list.

A family has ``MODEL_TYPES``, the model_type values that it reads, and ``read(config) -> Architecture``. A file that
is named as its model_type is found without importing the others.
"""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.errors import UnknownArchitecture, did_you_mean
from kvplan.units import shorten


def read(config: Config, default_type: str | None = None) -> Architecture:
    """The architecture by the config's own model_type, or by ``default_type`` where it names none."""
    model_type = config.word("model_type") or default_type
    if model_type is None:
        raise config.missing("model_type")
    return find(model_type, config.where).read(config)  # type: ignore[no-any-return]


def find(model_type: str, where: str) -> ModuleType:
    """The family of a model_type; one that no family lists is refused, never read by the formula of another."""
    name = model_type.replace("-", "_")
    if name in _module_names():
        family = import_module(f"{__name__}.{name}")
        if model_type in family.MODEL_TYPES:
            return family
    known = by_model_type()
    if model_type not in known:
        guess = did_you_mean(model_type, known, limit=1)
        raise UnknownArchitecture(
            f"architecture {shorten(model_type)!r} is not known to kvplan: it does not know its KV layout yet, "
            "so its KV cache can't be judged",
            where=where,
            help=(f"the nearest known one is {guess[0]}, " if guess else "") + "kvplan model list --families",
        )
    return known[model_type]


@lru_cache(maxsize=1)
def by_model_type() -> dict[str, ModuleType]:
    """Every known model_type and the family that reads it."""
    families = [import_module(f"{__name__}.{name}") for name in sorted(_module_names())]
    return {model_type: family for family in families for model_type in family.MODEL_TYPES}


@lru_cache(maxsize=1)
def _module_names() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))
