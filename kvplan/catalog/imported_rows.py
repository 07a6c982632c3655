"""Model rows that ``kvplan model import`` writes: what a checkpoint says, so that the row gives the same model.

A config.json becomes the row's ``config``. Three things that it can't say go beside it: keys that the file states as
null (``null_keys``), and the bytes (``stored``) and elements (``weights``) of the tensors where they were read. A
checkpoint without a config, or one whose keys TOML can't hold, becomes a ``layout``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kvplan.catalog.layout_rows import (
    layout_table,
    model_from_layout,
    stored_table,
    stored_weights,
    weight_elements,
    weights_table,
)  # fmt: skip
from kvplan.catalog.model_rows import check_row
from kvplan.catalog.null_keys import is_shallow, with_nulls, without_nulls
from kvplan.catalog.toml_text import too_long
from kvplan.catalog.toml_writer import table_text
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import Model
from kvplan.errors import CatalogError, KvplanError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SAID_BY_THE_ROW: Final = ("name", "source", "hub_id", "catalog_name", "published_parameters", "warnings")
_DTYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp8": "float8_e4m3fn"}


class WrittenRow(NamedTuple):
    """A row that was proved to give the model that it was made of."""

    row: dict[str, Any]
    text: str
    form: str
    """``config`` or ``layout``."""
    model: Model


def model_of_row(name: str, row: Mapping[str, Any], where: str, source: str) -> Model:
    """The model of a row that has more than a config."""
    title = row.get("name") or name
    if "layout" in row:
        model = model_from_layout(row["layout"], where, title, source)
    else:
        config = with_nulls(row["config"], row.get("null_keys", ()), where)
        published = row.get("parameters")
        model = model_from_config(config, name=title, where=where, source=source, published_parameters=published)
    if "weights" in row:
        model = model._replace(weights=weight_elements(row["weights"], where), tower_elements_unknown=False)
    if "stored" in row:
        model = model._replace(stored=stored_weights(row["stored"], where), tower_elements_unknown=False)
    return model._replace(hub_id=row.get("hub_id"), catalog_name=name, published_parameters=row.get("parameters"))


def written_row(name: str, head: Mapping[str, Any], model: Model, keys: Mapping[str, Any] | None) -> WrittenRow:
    """The plainest row that gives ``model`` again. ``head`` are its first lines, ``keys`` those of its config.json."""
    for form, body in _candidates(model, keys):
        found = _tried(name, form, {**head, **body})
        if found is None or _compared(found.model) != _compared(model):
            continue
        unsaid = [text for text in model.warnings if text not in found.model.warnings]
        noted = _tried(name, form, {**head, "notes": ". ".join(unsaid), **body}) if unsaid else None
        return noted or found
    raise CatalogError("kvplan can't write this model as a row of a catalog", where=name)


def _tried(name: str, form: str, row: Mapping[str, Any]) -> WrittenRow | None:
    """The row as it comes back from its own text; None where something in it doesn't."""
    try:
        text = table_text(("models", name), row)
        if too_long(text) is not None:
            return None
        read: dict[str, Any] = tomllib.loads(text)["models"][name]
        model = model_of_row(name, check_row(read, name), name, read.get("source") or "")
    except (KvplanError, ValueError, RecursionError):
        return None
    return WrittenRow(read, text, form, model)


def _candidates(model: Model, keys: Mapping[str, Any] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """(form, tables of the row), the plainest first."""
    stored = {"stored": stored_table(model.stored)} if model.stored is not None else {}
    counts = {"weights": weights_table(model.weights)}
    if keys is not None and is_shallow(keys):
        config, nulls = without_nulls(keys)
        named = {"torch_dtype": _DTYPES[model.dtype]} if model.dtype in _DTYPES else {}
        for table in (config, {**named, **config}):
            for null_keys in ({}, {"null_keys": nulls}):
                yield "config", {**null_keys, "config": table, **stored}
                yield "config", {**null_keys, "config": table, **counts, **stored}
    yield "layout", {"layout": layout_table(model), **stored}


def _compared(model: Model) -> Model:
    """Without what the row says in its own words."""
    return model._replace(name="", source="", hub_id=None, catalog_name=None, published_parameters=None, warnings=())
