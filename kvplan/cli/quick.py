"""Typer commands whose options are converted without pydantic.

Typer builds a pydantic validator for every option when a command runs; for the plain types that kvplan's options have
(text, numbers, switches, lists of text) that takes longer than most answers. ``QuickCommand`` gives those parameters
converters of its own. With a Typer that has no such hook it changes nothing but the start-up time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_HOOK = "_runtime_param"


class PlainConversion:
    """Stands in for Typer's own conversion of one parameter."""

    def __init__(self, convert: Callable[[str], Any], word: str) -> None:
        self.convert, self.word = convert, word

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the option's type; BadParameter that names what was typed."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if isinstance(value, (list, tuple)):
            return [self._one(item, param, ctx) for item in value]
        return self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.convert(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is not {self.word}", ctx=ctx, param=param) from None


def _switch(text: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    try:
        return known[text.lower()]
    except KeyError:
        raise ValueError(text) from None


_CONVERSIONS = {
    str: PlainConversion(str, "text"),
    int: PlainConversion(int, "a whole number"),
    float: PlainConversion(float, "a number"),
    bool: PlainConversion(_switch, "a switch"),
}


def plain_type(annotation: Any) -> type | None:
    """``Optional[int]`` -> int, ``list[str]`` -> str; None for what is not plain."""
    inner = [part for part in getattr(annotation, "__args__", ()) if part is not type(None)]
    while inner:
        annotation = inner[0]
        inner = [part for part in getattr(annotation, "__args__", ()) if part is not type(None)]
    return annotation if isinstance(annotation, type) else None


class _Quick:
    """Gives every parameter a plain conversion, Typer's own ``--help`` included, before it is first used."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            described = getattr(getattr(param, "type_descriptor", None), "annotation", None)
            conversion = _CONVERSIONS.get(plain_type(described) or object)
            if conversion is not None and getattr(param, _HOOK, conversion) is None:
                setattr(param, _HOOK, conversion)
        return params


class QuickCommand(_Quick, TyperCommand):
    """A Typer command with plain conversions. Use as ``app.command(cls=QuickCommand)``."""


class QuickGroup(_Quick, TyperGroup):
    """A Typer group with plain conversions. Use as ``Typer(cls=QuickGroup)``."""
