"""The first thing that pydantic finds wrong with a row or a table of it, as one clear line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from kvplan.checkpoints.config import shown
from kvplan.errors import CatalogError, did_you_mean
from kvplan.units import shorten


def in_one_line(error: ValidationError, where: str, known: Iterable[str], *, path: Sequence[str] = ()) -> CatalogError:
    """The error of a row; ``path`` leads to the table that was checked, ``known`` are the keys that there could be."""
    first = error.errors(include_url=False)[0]
    key = shorten(".".join(str(part) for part in (*path, *first["loc"])))
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        names = list(known)
        guesses = did_you_mean(str(first["loc"][-1]), names)
        return CatalogError(
            f"has a key {key!r}, which kvplan doesn't know", where=where,
            help=f"did you mean {' or '.join(guesses)}?" if guesses else f"known: {', '.join(names)}",
        )  # fmt: skip
    if first["type"] in ("missing", "missing_argument"):
        return CatalogError(f"{key} is missing", where=where)
    message = first["msg"][:1].lower() + first["msg"][1:]
    return CatalogError(f"{key}: {message} (it is {shown(first['input'])})", where=where)
