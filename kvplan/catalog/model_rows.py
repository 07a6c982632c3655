"""The form of a model row in a user's catalog file, checked by pydantic: one clear line for a slip of the hand."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvplan.checkpoints.config import shown
from kvplan.errors import CatalogError, did_you_mean
from kvplan.units import LARGEST_COUNT, shorten


class ModelRow(BaseModel):
    """One ``[models.NAME]`` table. ``config`` holds the keys of the model's config.json that kvplan reads."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, min_length=1, max_length=200)
    """What people call the model; the row's name where missing."""
    hub_id: str | None = None
    aliases: list[str] = []
    family: str | None = None
    parameters: int | None = Field(None, gt=0, le=LARGEST_COUNT)
    """Elements that the checkpoint stores, as published."""
    source: str | None = None
    """Where the config and the count come from; the file itself where missing."""
    notes: str | None = None
    config: dict[str, Any]


def check_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row as given, or the first thing that is wrong with it as a CatalogError."""
    try:
        ModelRow.model_validate(row)
    except ValidationError as error:
        raise _in_one_line(error, where) from None
    return row


def _in_one_line(error: ValidationError, where: str) -> CatalogError:
    first = error.errors(include_url=False)[0]
    key = shorten(".".join(str(part) for part in first["loc"]))
    if first["type"] == "extra_forbidden":
        guesses = did_you_mean(key, ModelRow.model_fields)
        known = f"a model row has {', '.join(ModelRow.model_fields)}"
        return CatalogError(
            f"has a key {key!r}, which a model row doesn't", where=where,
            help=f"did you mean {' or '.join(guesses)}?" if guesses else known,
        )  # fmt: skip
    if first["type"] == "missing":
        return CatalogError(f"{key} is missing", where=where)
    message = first["msg"][:1].lower() + first["msg"][1:]
    return CatalogError(f"{key}: {message} (it is {shown(first['input'])})", where=where)
