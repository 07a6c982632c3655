"""Model rows without a config: the layout itself, field by field as the domain has it.

What kvplan reads out of a checkpoint without a config.json (a GGUF) is kept this way, so that the row goes on working
where the file has been moved or deleted. ``[models.NAME.stored]``, true bytes of the tensors, goes with either form,
``[models.NAME.weights]``, their elements by part, with a config that gives others. The domain's records say which
fields there are; pydantic, which rows of users are checked with anyway, reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from kvplan.catalog.row_errors import in_one_line
from kvplan.checkpoints.config import LARGEST_LAYERS, shown
from kvplan.domain.model import Model, StoredWeights, WeightElements
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.errors import CatalogError
from kvplan.units import LARGEST_COUNT, shorten

_ELSEWHERE: Final = ("name", "source", "hub_id", "catalog_name", "published_parameters", "stored")
"""Fields of a Model that stand in the row itself, not in its layout."""

LAYOUT_FIELDS: Final = tuple(name for name in Model._fields if name not in _ELSEWHERE)

_AT_LEAST_ONE: Final = frozenset(
    ("layers", "hidden_size", "attention_heads", "head_elements", "vocab_size", "max_context_tokens",
     "window_tokens", "tokens_per_entry", "sequence_tokens", "read_tokens", "experts", "experts_per_token")
)  # fmt: skip
"""Counts that are divided by or that no model has none of; the others may be 0."""


def weights_table(weights: WeightElements) -> dict[str, Any]:
    """``[models.NAME.weights]``."""
    return _table(weights)


def layout_table(model: Model) -> dict[str, Any]:
    """``[models.NAME.layout]`` of a model; fields with their default are left out."""
    return {name: value for name, value in _table(model).items() if name in LAYOUT_FIELDS}


def stored_table(stored: StoredWeights) -> dict[str, Any]:
    """``[models.NAME.stored]``; whole numbers of bytes are written as such."""
    return {name: int(value) if value == int(value) else value for name, value in _table(stored).items()}


def model_from_layout(layout: Mapping[str, Any], where: str, name: str, source: str) -> Model:
    """The model of a layout, checked."""
    for key in _ELSEWHERE:
        if key in layout:
            raise CatalogError(f"layout has a key {key!r}, which stands in the row itself", where=where)
    fields = {"max_context_tokens": None, **layout, "name": name, "source": source}
    model: Model = _checked(Model, fields, "layout", where)
    try:
        SCHEMES[model.dtype]
    except (KeyError, RecursionError):  # a mix of two that are known is known, though it is in no list
        raise CatalogError(
            f"layout.dtype {shorten(repr(model.dtype))} is no way of storing weights that kvplan knows",
            where=where, help="known: " + ", ".join(SCHEMES),
        ) from None  # fmt: skip
    if not model.kv or len(model.kv) > LARGEST_LAYERS:
        raise CatalogError(f"layout.kv must have from 1 to {LARGEST_LAYERS} kinds of layers", where=where)
    if any(layers.elements_per_token == 0 < layers.key_elements for layers in (*model.kv, *model.mtp_kv)):
        raise CatalogError("layout.kv has keys without a KV head", where=where)
    return model


def stored_weights(table: Mapping[str, Any], where: str) -> StoredWeights:
    """The record of a ``stored`` table, checked."""
    stored: StoredWeights = _checked(StoredWeights, table, "stored", where)
    return stored


def weight_elements(table: Mapping[str, Any], where: str) -> WeightElements:
    """The record of a ``weights`` table, checked."""
    weights: WeightElements = _checked(WeightElements, table, "weights", where)
    return weights


def _table(record: Any) -> dict[str, Any]:
    defaults = record._field_defaults
    return {
        name: _plain(value)
        for name, value in zip(record._fields, record, strict=True)
        if name not in defaults or value != defaults[name]
    }


def _plain(value: Any) -> Any:
    """A record as a table, a tuple as a list."""
    if hasattr(value, "_fields"):
        return _table(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _checked(record: Any, table: Mapping[str, Any], what: str, where: str) -> Any:
    """The record that a table describes; a CatalogError names the first field that is wrong."""
    try:
        value: Any = TypeAdapter(record).validate_json(json.dumps(table, allow_nan=True, default=str), strict=True)
    except ValidationError as error:
        known = [name for name in record._fields if name not in _ELSEWHERE]
        raise in_one_line(error, where, known, path=(what,)) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, a structure without end
        raise CatalogError(f"{what} is not a table that kvplan can read", where=where) from None
    for number in _numbers(value, what):
        least = 1 if number.field in _AT_LEAST_ONE else 0
        if not (math.isfinite(number.value) and least <= number.value <= LARGEST_COUNT):
            raise CatalogError(f"{number.path} must be from {least} to 2^53 (it is {shown(number.value)})", where=where)
    return value


class _Number(NamedTuple):
    path: str
    field: str
    value: float


def _numbers(record: Any, path: str) -> Iterator[_Number]:
    """Every number in a record and in the records that it holds."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            yield _Number(f"{path}.{name}", name, value)
        elif hasattr(value, "_fields"):
            yield from _numbers(value, f"{path}.{name}")
        elif isinstance(value, tuple):
            for item in value:
                if hasattr(item, "_fields"):
                    yield from _numbers(item, f"{path}.{name}")
