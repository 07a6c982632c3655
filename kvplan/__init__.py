"""kvplan: a capacity planner for the KV cache of served language models.

In Python the commands are functions that take the same words: ``kvplan.fit(model="llama3-8b", host="rtx4090")``. They
return typed, frozen objects with ``to_json()`` and raise ``kvplan.errors.KvplanError``. Nothing is loaded before it is
used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without loading typing

if TYPE_CHECKING:
    from kvplan import errors as errors
    from kvplan.results.public import check as check
    from kvplan.results.public import diff as diff
    from kvplan.results.public import fit as fit
    from kvplan.results.public import kv as kv
    from kvplan.results.public import lock as lock
    from kvplan.results.public import sweep as sweep

__version__ = "0.1.0"

_FUNCTIONS = ("check", "diff", "fit", "kv", "lock", "sweep")
__all__ = ["__version__", "check", "diff", "errors", "fit", "kv", "lock", "sweep"]


def __getattr__(name: str) -> object:
    """The public functions, loaded on first use."""
    from importlib import import_module

    if name == "errors":
        return import_module("kvplan.errors")
    if name in _FUNCTIONS:
        return getattr(import_module("kvplan.results.public"), name)
    raise AttributeError(f"module 'kvplan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
