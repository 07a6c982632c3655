"""``kvplan model import`` and ``kvplan host import``: what was added, where, and what it can be used for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from kvplan import __version__
from kvplan.catalog.imports import AddedHost, AddedModel, ImportWords
from kvplan.catalog.imports import import_host as add_host
from kvplan.catalog.imports import import_model as add_model
from kvplan.catalog.row_target import Added
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.results.host_sheet import sheet_of
from kvplan.results.json_shapes import Json, dtype_of, host_json, model_json, whole
from kvplan.results.kv import KvResult, kv_of

MODEL_SCHEMA = "kvplan.model-import/1"
HOST_SCHEMA = "kvplan.host-import/1"
EXAMPLE_HOST = "rtx4090"
EXAMPLE_MODEL = "llama3-8b"


@dataclass(frozen=True, slots=True)
class ModelImport:
    """A model that was added."""

    answer: AddedModel
    kv: KvResult
    """KV of one token in 16 bits, as the model's sheet has it."""

    @property
    def added(self) -> Added:
        """Where it was added, and under which names."""
        return self.answer.added

    @property
    def weight_bytes(self) -> float | None:
        """As the checkpoint stores them: of its tensors where they were read, else computed; None where unsettled."""
        model = self.answer.model
        if model.stored is not None:
            return model.stored.total_bytes
        return None if model.weights_unsettled else float(sum(SCHEMES[model.dtype].bytes_of(model.weights)))

    @property
    def next_commands(self) -> tuple[str, ...]:
        """What to type next."""
        name = shlex.quote(self.added.name)
        return (
            f"kvplan fit --model {name} --host {EXAMPLE_HOST}{_catalog(self.added)}",
            f"kvplan model show {name}{_catalog(self.added)}",
        )

    def to_json(self) -> Json:
        """The envelope ``kvplan.model-import/1``."""
        model = self.answer.model
        return {
            "schema": MODEL_SCHEMA,
            "kvplan_version": __version__,
            **_added_json(self.added),
            "hub_id": model.hub_id,
            "form": self.answer.form,
            "model": model_json(model),
            "dtype": dtype_of(model),
            "kv_bytes_per_token": whole(self.kv.kv_bytes_per_token),
            "weight_bytes": whole(self.weight_bytes),
            "weight_bytes_are_true": model.stored is not None,
            "warnings": list(model.warnings),
            "next": list(self.next_commands),
        }


@dataclass(frozen=True, slots=True)
class HostImport:
    """A host that was added."""

    answer: AddedHost

    @property
    def added(self) -> Added:
        """Where it was added, and under which names."""
        return self.answer.added

    @property
    def unknown(self) -> tuple[str, ...]:
        """The figures that the row does not state."""
        return sheet_of(self.answer.host, self.added.aliases).unknown

    @property
    def next_commands(self) -> tuple[str, ...]:
        """What to type next."""
        name = shlex.quote(self.added.name)
        return (
            f"kvplan fit --model {EXAMPLE_MODEL} --host {name}{_catalog(self.added)}",
            f"kvplan host show {name}{_catalog(self.added)}",
        )

    def to_json(self) -> Json:
        """The envelope ``kvplan.host-import/1``."""
        host = self.answer.host
        return {
            "schema": HOST_SCHEMA,
            "kvplan_version": __version__,
            **_added_json(self.added),
            "title": host.title,
            "host": host_json(host, host.gpus),
            "unknown": list(self.unknown),
            "next": list(self.next_commands),
        }


def import_model(words: ImportWords) -> ModelImport:
    """Add a model to the user's catalog."""
    answer = add_model(words)
    return ModelImport(answer, kv_of(answer.model))


def import_host(words: ImportWords) -> HostImport:
    """Add a host to the user's catalog."""
    return HostImport(add_host(words))


def _added_json(added: Added) -> Json:
    return {
        "name": added.name,
        "aliases": list(added.aliases),
        "file": added.file,
        "always_read": added.always_read,
        "replaced": added.replaced,
        "lost_aliases": list(added.lost_aliases),
    }


def _catalog(added: Added) -> str:
    return "" if added.always_read else f" --catalog {shlex.quote(added.file)}"
