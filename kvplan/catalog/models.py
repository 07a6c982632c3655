"""What a user typed for ``--model`` -> ``domain.Model``: a catalog name, an alias, a hub id, or a path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kvplan.catalog.files import CatalogFile, Table, catalog_files
from kvplan.checkpoints.hub_id import looks_like_hub_id
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import Model
from kvplan.errors import UnknownName

SHIPPED: Final = "models.toml"
SECTION: Final = "models"
_FILE_ENDINGS = (".json", ".gguf", ".safetensors")
FETCH_HELP: Final = "fit, kv, sweep, model show and model import read it from the Hugging Face Hub with --fetch"
"""The commands that take ``--fetch`` for a model by itself."""


class ModelRow(NamedTuple):
    """One line of ``kvplan model list``."""

    name: str
    title: str
    parameters: int
    attention: tuple[str, ...]
    """``MHA``, ``GQA``, ``MQA`` or ``MLA``, then ``sliding`` and ``MoE`` where they are."""
    max_context_tokens: int | None
    family: str
    source: str
    model: Model


def load_model(name: str, extra: Sequence[str] = (), *, fetch: bool = False) -> Model:
    """The model of a catalog row, of a checkpoint at a path, or (``fetch``) of a hub id that is neither.

    ``extra`` are ``--catalog`` files. Catalog names go before paths: a folder that happens to be called ``llama3-8b``
    is meant by ``./llama3-8b``.
    """
    table = model_table(extra)
    found = table.find(name)
    if found is not None:
        return _from_row(table, found)
    if fetch and looks_like_hub_id(name) and not _exists(name):
        from kvplan.checkpoints.hub import read_hub

        return read_hub(name)
    if _looks_like_path(name):
        from kvplan.checkpoints.read import read_model

        return read_model(name)
    error = UnknownName.of("model", name, [*table.names(), *table.aliases()], listing="kvplan model list")
    if not fetch and looks_like_hub_id(name):
        error.help = f"{error.help}; {FETCH_HELP}"
    raise error


def list_models(extra: Sequence[str] = ()) -> list[ModelRow]:
    """Every row of the catalogs in file order."""
    table = model_table(extra)
    return [_listed(table, name) for name in table.names()]


def model_table(extra: Sequence[str] = ()) -> Table:
    """The models of all catalog files, the later ones laid over the earlier."""
    return _table(catalog_files(SHIPPED, extra))


@lru_cache(maxsize=4)
def _table(files: tuple[CatalogFile, ...]) -> Table:
    """Looked through once for the same files: a check of a repository asks for hundreds of models."""
    return Table(SECTION, files)


def attention_kinds(model: Model) -> tuple[str, ...]:
    """How the layers attend, in the usual abbreviations: heads first, then the kinds beside full attention."""
    kinds = dict.fromkeys(kind.kind for kind in model.kv)
    heads = [kind.kv_heads for kind in model.kv if kind.key_elements and kind.value_elements]
    grouped: tuple[str, ...] = ()
    if "mla" in kinds:
        grouped = ("MLA",)
    elif heads:
        most = max(heads)
        grouped = ("MHA" if most == model.attention_heads else "MQA" if most == 1 else "GQA",)
    mixture = ("MoE",) if model.experts is not None else ()
    return (*grouped, *(kind for kind in kinds if kind not in ("full", "mla")), *mixture)


def _from_row(table: Table, name: str) -> Model:
    row, file = table.row(name)
    return _model(name, _checked(name, row, file), file)


def _listed(table: Table, name: str) -> ModelRow:
    row, file = table.row(name)
    row = _checked(name, row, file)
    model = _model(name, row, file)
    return ModelRow(
        name=name,
        title=model.name,
        parameters=model.weights.total,
        attention=attention_kinds(model),
        max_context_tokens=model.max_context_tokens,
        family=row.get("family") or model.model_type,
        source=model.source,
        model=model,
    )


def _checked(name: str, row: dict[str, Any], file: CatalogFile) -> dict[str, Any]:
    """Rows of users are checked by pydantic; the shipped ones by the tests."""
    if file.shipped:
        return row
    from kvplan.catalog.model_rows import check_row

    return check_row(row, _where(name, file))


def _model(name: str, row: dict[str, Any], file: CatalogFile) -> Model:
    where = _where(name, file)
    if not row.keys().isdisjoint(("layout", "stored", "weights")):
        from kvplan.catalog.imported_rows import model_of_row

        return model_of_row(name, row, where, row.get("source") or file.path)
    config = row["config"]
    if "null_keys" in row:
        from kvplan.catalog.null_keys import with_nulls

        config = with_nulls(config, row["null_keys"], where)
    return model_from_config(
        config,
        name=row.get("name") or name,
        where=where,
        source=row.get("source") or file.path,
        hub_id=row.get("hub_id"),
        catalog_name=name,
        published_parameters=row.get("parameters"),
    )


def _where(name: str, file: CatalogFile) -> str:
    return f"{file.path} [{SECTION}.{name}]"


def _looks_like_path(name: str) -> bool:
    """A path that exists, ends as a file of a model does, or can't be a hub id by its form (``./x``, ``a/b/c``)."""
    if name.lower().endswith(_FILE_ENDINGS) or name.startswith((os.sep, ".", "~")) or name.count("/") > 1:
        return True
    return _exists(name)


def _exists(name: str) -> bool:
    try:
        return os.path.lexists(name)
    except ValueError:
        return False
