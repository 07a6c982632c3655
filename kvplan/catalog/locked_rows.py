"""The rows of a lock file: as ``kvplan model import`` writes models, less what no byte of a deployment depends on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kvplan.catalog.imported_rows import WrittenRow, model_of_row, written_row
from kvplan.catalog.model_rows import check_row
from kvplan.catalog.toml_writer import table_text
from kvplan.checkpoints.hub import fetched
from kvplan.checkpoints.read import config_keys, read_model
from kvplan.domain.model import Model

_NO_GEOMETRY: Final = re.compile(
    r".*(?:_token_ids?|_dropout(?:_prob)?|_eps|_epsilon|_initializer_range|_act|_activation)"
    r"|initializer_range|hidden_activation|use_cache|dropout|gradient_checkpointing|output_(?:attentions|hidden_states)"
    r"|return_dict|problem_type|finetuning_task|tokenizer_class|prefix|pruned_heads|pretraining_tp|_.*"
)
"""Keys of a config.json about tokens, training and numerics. A row is kept whole where its model turns on one."""
_NAMES: Final = ("name", "hub_id", "aliases", "source", "notes")
"""Keys of a row that stand before all others, in this order."""


class Read(NamedTuple):
    """A checkpoint that was read: its model, and the keys of its config.json where it has one."""

    model: Model
    keys: Mapping[str, Any] | None


class Locked(NamedTuple):
    """One row of a lock file."""

    name: str
    row: dict[str, Any]
    model: Model

    @property
    def texts(self) -> tuple[str, ...]:
        """What finds the row: its name, then its aliases."""
        return (self.name, *self.row.get("aliases", ()))

    def text(self) -> str:
        """Its lines."""
        return table_text(("models", self.name), self.row)

    def named_by(self, aliases: Sequence[str]) -> Locked:
        """The same model under these names."""
        row: dict[str, Any] = {**self.row, "aliases": list(aliases)}
        head: dict[str, Any] = {key: row.pop(key) for key in _NAMES if key in row}
        if not aliases:
            del head["aliases"]
        return self._replace(row=head | row)


def read_on_hub(hub: str) -> Read:
    """A model of the Hub: its config and the headers of its weights."""
    with fetched(hub) as found:
        return Read(found.named(read_model(found.folder)), config_keys(found.folder))


def read_here(path: str, shown: str) -> Read:
    """A config.json, a checkpoint folder or a GGUF file. Its source is ``shown``, the same on every machine."""
    model = read_model(path)
    _, separator, weights = model.source.partition("; ")
    return Read(model._replace(source=f"{shown}{separator}{weights}"), config_keys(path))


def locked(name: str, aliases: Sequence[str], read: Read) -> Locked:
    """The row of a model; proved to give that model again."""
    model = read.model
    head = {"name": model.name, "hub_id": model.hub_id, "aliases": list(aliases), "source": model.source}
    head = {key: value for key, value in head.items() if value}
    written = written_row(name, head, model, None if read.keys is None else _geometry(read.keys))
    if written.form == "layout" and read.keys is not None:
        written = written_row(name, head, model, read.keys)
    return _of(name, written)


def locked_before(name: str, row: Mapping[str, Any], where: str) -> Locked:
    """A row as a lock file has it, checked."""
    checked = check_row(dict(row), f"{where} [models.{name}]")
    return Locked(name, checked, model_of_row(name, checked, where, str(checked.get("source") or where)))


def name_of_path(text: str) -> str:
    """The row's name for a local checkpoint: ``local/checkpoints-chat`` for ``./checkpoints/chat/config.json``."""
    path = text.removesuffix("/config.json").replace(os.sep, "/")
    words = re.sub(r"[^\w.+]+", "-", re.sub(r"\.(?:json|gguf)$", "", path, flags=re.IGNORECASE)).strip("-._+")
    return f"local/{words[-100:].strip('-._+') or 'model'}"


def _of(name: str, written: WrittenRow) -> Locked:
    return Locked(name, written.row, written.model)


def _geometry(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that may say something of a model's shape or of its bytes."""
    return {
        key: _geometry(value) if isinstance(value, Mapping) else value
        for key, value in keys.items()
        if not _NO_GEOMETRY.fullmatch(key)
    }
