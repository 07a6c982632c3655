"""``kvplan model show``: one model, what its KV cache is made of, and what its weights take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvplan import __version__
from kvplan.catalog.models import attention_kinds, load_model, model_table
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.results.json_shapes import Json, dtype_of, model_json, whole
from kvplan.results.kv import KvResult, kv_of, layer_json

SCHEMA = "kvplan.model/1"
SHOWN_SCHEMES = ("bf16", "fp8", "awq-int4")
"""Weight types that are shown beside the checkpoint's own."""


@dataclass(frozen=True, slots=True)
class ModelSheet:
    """Everything about one model. Bytes are for one GPU that holds it whole, KV in 16 bits."""

    model: Model
    name: str
    """What to give to ``--model``: the catalog's name, or the path."""
    family: str | None
    aliases: tuple[str, ...]
    notes: str | None
    kv: KvResult
    """At the context that ``fit`` takes by default; only what doesn't depend on it is shown."""

    @property
    def weight_bytes(self) -> dict[str, float]:
        """Weight bytes by type: the checkpoint's own first."""
        own = () if self.model.weights_unsettled else (self.model.dtype,)
        names = dict.fromkeys((*own, *SHOWN_SCHEMES))
        found = {name: float(sum(SCHEMES[name].bytes_of(self.model.weights))) for name in names}
        if self.model.stored is not None:
            found[self.model.dtype] = self.model.stored.total_bytes
        return found

    def to_json(self) -> Json:
        """The envelope ``kvplan.model/1``."""
        model, experts = self.model, self.model.experts
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "name": self.name,
            "title": model.name,
            "hub_id": model.hub_id,
            "aliases": list(self.aliases),
            "family": self.family,
            "model_type": model.model_type,
            "attention": list(attention_kinds(model)),
            "parameters": model_json(model)["parameters"],
            "published_parameters": model.published_parameters,
            "active_parameters": model.active_elements,
            "layers": model.layers,
            "hidden_size": model.hidden_size,
            "attention_heads": model.attention_heads,
            "vocab_size": model.vocab_size,
            "experts": None if experts is None else {
                "experts": experts.experts,
                "experts_per_token": experts.experts_per_token,
                "moe_layers": experts.moe_layers,
                "intermediate_size": experts.intermediate_size,
            },
            "max_context_tokens": model.max_context_tokens,
            "dtype": dtype_of(model),
            "kv_layers": self._kv_layers(),
            "kv_bytes_per_token": whole(self.kv.kv_bytes_per_token),
            "kv_bytes_fixed_per_sequence": whole(self.kv.kv_bytes_fixed_per_sequence),
            "weight_bytes": {name: whole(value) for name, value in self.weight_bytes.items()},
            "source": model.source,
            "notes": self.notes,
            "warnings": list(model.warnings),
        }  # fmt: skip

    def _kv_layers(self) -> list[Json]:
        """The kinds of layers with their geometry. What a sequence of some context takes is for ``kvplan kv``."""
        found = []
        for item, row in zip(self.model.kv, self.kv.layers, strict=True):
            line = {name: value for name, value in layer_json(row).items() if name != "bytes_per_sequence"}
            geometry = {"key_elements": item.key_elements, "value_elements": item.value_elements}
            found.append({**line, "kv_heads": item.kv_heads, **geometry})
        return found


def model_sheet(name: str, catalog: Sequence[str] = (), *, fetch: bool = False) -> ModelSheet:
    """The sheet of a catalog row, of a checkpoint at a path, or (``fetch``) of a model on the Hub."""
    model = load_model(name, catalog, fetch=fetch)
    aliases: tuple[str, ...] = ()
    family = notes = None
    if model.catalog_name is not None:
        row, _ = model_table(catalog).row(model.catalog_name)
        family, notes, aliases = row.get("family"), row.get("notes"), tuple(row.get("aliases", ()))
    return ModelSheet(model, model.catalog_name or name, family, aliases, notes, kv_of(model))
