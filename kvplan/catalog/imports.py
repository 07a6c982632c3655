"""``kvplan model import`` and ``kvplan host import``: a checked row is added to the user's own catalog.

Nothing is written before the row has been read back and gives the same model or host, and before it is certain that
it is the row that the name will mean from then on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kvplan.catalog.files import CatalogFile, Table, parse
from kvplan.catalog.hardware import SHIPPED as HARDWARE
from kvplan.catalog.hardware import host_of_row, host_row_of_file
from kvplan.catalog.imported_rows import written_row
from kvplan.catalog.models import SHIPPED as MODELS
from kvplan.catalog.row_names import checked_name
from kvplan.catalog.row_target import Added, row_target
from kvplan.catalog.toml_writer import table_text
from kvplan.checkpoints.hub import fetched
from kvplan.checkpoints.hub_id import looks_like_hub_id
from kvplan.checkpoints.read import config_keys, read_model
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.errors import InputError
from kvplan.units import shorten


class ImportWords(NamedTuple):
    """What was typed."""

    path: str
    name: str | None = None
    """None for a host: the name that its file has."""
    aliases: tuple[str, ...] = ()
    hub_id: str | None = None
    source: str | None = None
    catalog: str | None = None
    """The file to write to; None for the one in the user's config folder."""
    replace: bool = False
    fetch: bool = False


class AddedModel(NamedTuple):
    """A model that now stands in a catalog."""

    added: Added
    model: Model
    form: str
    """``config``: the keys of its config.json; ``layout``: what kvplan read out of a file without one."""


class AddedHost(NamedTuple):
    """A host that now stands in a catalog."""

    added: Added
    host: Host


def import_model(words: ImportWords) -> AddedModel:
    """Read a config.json, a checkpoint folder, a GGUF file or (``fetch``) a hub id, and add its row."""
    name = checked_name(words.name or "", "model")
    if words.hub_id is not None and (not looks_like_hub_id(words.hub_id) or "@" in words.hub_id):
        raise InputError(f"--hub-id must look like owner/name (it is {shorten(words.hub_id)!r})")
    with _checkpoint(words) as (model, keys), row_target("model", MODELS, words.catalog) as target:
        aliases = _aliases(words.aliases, name, "model")
        hub_id = words.hub_id or model.hub_id
        if hub_id is not None and hub_id != name and target.before.find(hub_id) in (None, name):
            aliases = tuple(dict.fromkeys((*aliases, hub_id)))
        title = None if model.hub_id is None and _is_of_path(model.name, words.path) else model.name
        head = {"name": title, "hub_id": hub_id, "aliases": list(aliases), "source": words.source or model.source}
        written = written_row(name, {key: value for key, value in head.items() if value}, model, keys)
        added = target.add(name, aliases, written.text, written.row, replace=words.replace)
        return AddedModel(added, written.model, written.form)


def import_host(words: ImportWords) -> AddedHost:
    """Read a TOML file with one host table, and add its row; a GPU row of the same file goes into it."""
    own_name, read, file = host_row_of_file(words.path)
    name = checked_name(words.name or own_name, "host")
    source = words.source or read.get("source") or os.path.abspath(words.path)
    row = {**read, **_gpu_row(read, words.path, file), "source": source}
    with row_target("host", HARDWARE, words.catalog) as target:
        host = host_of_row(name, row, file, Table("gpus", target.files))
        aliases = _aliases(row.get("aliases", ()), name, "host")
        added = target.add(name, aliases, table_text(("hosts", name), row), row, replace=words.replace)
        return AddedHost(added, host)


@contextmanager
def _checkpoint(words: ImportWords) -> Iterator[tuple[Model, dict[str, Any] | None]]:
    """The model at a path or on the Hub, and the keys of its config.json where it has one."""
    path = words.path
    if not os.path.lexists(path) and looks_like_hub_id(path):
        if not words.fetch:
            raise InputError("there is no such file", where=path, help="--fetch reads it from the Hugging Face Hub")
        with fetched(path) as found:
            yield found.named(read_model(found.folder)), config_keys(found.folder)
        return
    model = read_model(path)
    if path and model.source.startswith(path):
        model = model._replace(source=os.path.abspath(path) + model.source[len(path) :])
    yield model, config_keys(path)


def _is_of_path(title: str, path: str) -> bool:
    """Whether a model has no other name than that of its file or folder; the one that it is given is better then."""
    parts = Path(os.path.abspath(path))
    return title in (parts.name, parts.stem, parts.parent.name)


def _aliases(given: Sequence[str], name: str, kind: str) -> tuple[str, ...]:
    """Other names, each once, and none that is the name itself."""
    checked = dict.fromkeys(checked_name(alias, kind) for alias in given)
    return tuple(alias for alias in checked if alias != name)


def _gpu_row(row: Any, path: str, file: CatalogFile) -> dict[str, Any]:
    """``gpu`` of a host whose GPU is described in the same file: the row itself, under the name that it has there."""
    gpu = row.get("gpu")
    if isinstance(gpu, str) and isinstance(parse(file).get("hosts"), dict):
        gpus = Table("gpus", [file])
        found = gpus.find(gpu)
        if found is not None:
            own, _ = gpus.row(found)
            gpu = {"title": found, **{key: value for key, value in own.items() if key != "aliases"}}
    return {"gpu": {**gpu, "source": gpu.get("source") or os.path.abspath(path)}} if isinstance(gpu, dict) else {}
