"""The form of a model row in a user's catalog file, checked by pydantic: one clear line for a slip of the hand."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvplan.catalog.row_errors import in_one_line
from kvplan.errors import CatalogError
from kvplan.units import LARGEST_COUNT


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
    config: dict[str, Any] | None = None
    null_keys: list[str] = []
    """Keys that the config states as null, which TOML can't: ``text_config.sliding_window``."""
    layout: dict[str, Any] | None = None
    """Instead of ``config``: what a checkpoint without one says, see layout_rows.py."""
    stored: dict[str, Any] | None = None
    """True bytes of the tensors, where they are known."""
    weights: dict[str, Any] | None = None
    """Element counts of the tensors, where they are not those that the config gives."""


def check_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row as given, or the first thing that is wrong with it as a CatalogError."""
    try:
        checked = ModelRow.model_validate(row)
    except ValidationError as error:
        raise in_one_line(error, where, ModelRow.model_fields) from None
    if checked.config is None and checked.layout is None:
        raise CatalogError("config is missing", where=where)
    if checked.config is not None and checked.layout is not None:
        raise CatalogError("has both a config and a layout; one of them describes the model", where=where)
    return row
