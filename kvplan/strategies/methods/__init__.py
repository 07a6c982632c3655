"""Published methods by family: what ``--method`` chooses from, and what ``kvplan explain`` lists.

A family is a strategy that several papers and engines carry out with constants of their own; one file each. The first
method of a family is its default, unless the engine has a way of its own. Adding a method is adding it to its table.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kvplan.strategies.interface import Method, Situation

_FILES = {
    "hbm": "resident",
    "offload-reuse": "reload",
    "offload-retrieve": "retrieval",
    "offload-cpu-attention": "cpu_attention",
    "expert-offload": "experts",
}


@cache
def families() -> tuple[str, ...]:
    """Strategies that have methods."""
    return tuple(_FILES)


@cache
def methods_of(family: str) -> tuple[Method, ...]:
    """The methods of a family, the default first; none for a strategy that has one way only."""
    file = _FILES.get(family)
    return () if file is None else tuple(import_module(f"{__name__}.{file}").METHODS)


def method_for(family: str, situation: Situation) -> Method:
    """The method that was asked for, if it is of this family; else the engine's own; else the default."""
    known = methods_of(family)
    asked, engine = situation.deployment.method, situation.deployment.engine.name
    named = [method for method in known if method.name == asked]
    own = [method for method in known if engine in method.stock_engines]
    return (*named, *own, *known)[0]


def families_of(name: str) -> tuple[str, ...]:
    """The families that have a method of this name."""
    return tuple(family for family in families() if any(method.name == name for method in methods_of(family)))
