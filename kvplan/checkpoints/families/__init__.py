"""One file per architecture family; the folder is the list.

A family has ``MODEL_TYPES``, the model_type values that it reads, and ``read(config) -> Architecture``. A file that
is named as its model_type is found without importing the others. ``LAYER_KEYS`` names the keys with a shape for each
layer that a family reads; where one is set, the other families refuse.
"""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from kvplan.checkpoints.architecture import Architecture, unknown_architecture
from kvplan.checkpoints.config import Config
from kvplan.errors import InputError, UnknownArchitecture

_SHAPES_BY_LAYER = ("block_configs", "per_layer_config")
"""Keys that give each layer a shape of its own: the formulas of a family don't hold where they are set."""


def read(config: Config) -> Architecture:
    """The architecture of a config by its own model_type."""
    model_type = config.word("model_type")
    if not model_type:
        raise config.missing("model_type")
    return _read(find(model_type, config.where), config)


def read_text(config: Config, flat_type: str | None) -> Architecture:
    """The language model inside a vision-language config, nested or flat.

    A nested level is read by its own model_type; ``flat_type`` stands in where it has none, and where the file is
    flat, so that the top level's model_type names the whole.
    """
    text = config.text()
    if text.text() is not text:
        raise InputError("a language model inside a language model", where=config.where)
    own = text.word("model_type") if text is not config else None
    model_type = own or flat_type
    if model_type is None:
        raise text.missing("model_type")
    return _read(find(model_type, config.where), text.typed(model_type))


def _read(family: ModuleType, config: Config) -> Architecture:
    """What a family reads; keys that give each layer a shape of its own are refused but where it names them."""
    for key in _SHAPES_BY_LAYER:
        if config.text().get(key) and key not in getattr(family, "LAYER_KEYS", ()):
            raise UnknownArchitecture(
                f"{key} changes the layers in a way that kvplan does not know yet", where=config.where
            )
    architecture: Architecture = family.read(config)
    return architecture


def find(model_type: str, where: str) -> ModuleType:
    """The family of a model_type; one that no family lists is refused, never read by the formula of another."""
    name = model_type.replace("-", "_")
    if name in _module_names():
        family = import_module(f"{__name__}.{name}")
        if model_type in family.MODEL_TYPES:
            return family
    known = by_model_type()
    if model_type not in known:
        raise unknown_architecture(model_type, where, "known families: kvplan model list --families")
    return known[model_type]


@lru_cache(maxsize=1)
def by_model_type() -> dict[str, ModuleType]:
    """Every known model_type and the family that reads it."""
    families = [import_module(f"{__name__}.{name}") for name in sorted(_module_names())]
    return {model_type: family for family in families for model_type in family.MODEL_TYPES}


@lru_cache(maxsize=1)
def _module_names() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))
