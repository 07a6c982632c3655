"""``kvplan model list`` and ``kvplan host list``: what the catalogs hold, filtered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvplan import __version__
from kvplan.catalog.hardware import HostListing, list_hosts
from kvplan.catalog.hardware_domain import CATEGORIES
from kvplan.catalog.models import ModelRow, list_models
from kvplan.domain.host import Host
from kvplan.results.host_sheet import sheet_of
from kvplan.results.json_shapes import Json, dtype_of, whole
from kvplan.results.kv import kv_of
from kvplan.results.listing_filters import (
    attending,
    billions,
    known_word,
    layer_kinds,
    least_hbm_bytes,
    of_family,
    searched,
    words_of,
)
from kvplan.units import to_billions

MODELS_SCHEMA = "kvplan.models/1"
HOSTS_SCHEMA = "kvplan.hosts/1"
FAMILIES_SCHEMA = "kvplan.families/1"


@dataclass(frozen=True, slots=True)
class ModelList:
    """Rows of the model catalogs."""

    rows: tuple[ModelRow, ...]

    def to_json(self) -> Json:
        """The envelope ``kvplan.models/1``."""
        return {"schema": MODELS_SCHEMA, "kvplan_version": __version__, "models": [_model(row) for row in self.rows]}


@dataclass(frozen=True, slots=True)
class HostList:
    """Rows of the hardware catalogs."""

    rows: tuple[HostListing, ...]

    def to_json(self) -> Json:
        """The envelope ``kvplan.hosts/1``."""
        return {"schema": HOSTS_SCHEMA, "kvplan_version": __version__, "hosts": [_host(row) for row in self.rows]}


@dataclass(frozen=True, slots=True)
class FamilyList:
    """Architectures whose KV layout kvplan knows: family -> the ``model_type`` values that it reads."""

    families: dict[str, tuple[str, ...]]

    def to_json(self) -> Json:
        """The envelope ``kvplan.families/1``."""
        rows = [{"family": name, "model_types": list(types)} for name, types in self.families.items()]
        return {"schema": FAMILIES_SCHEMA, "kvplan_version": __version__, "families": rows}


def models(
    catalog: Sequence[str] = (),
    *,
    name: str | None = None,
    family: str | None = None,
    attention: Sequence[str] = (),
    max_parameters: str | None = None,
) -> ModelList:
    """The models of the catalogs that pass every filter.

    ``name``: words that its name, title, hub id or family has; ``family``: part of its name, or a model_type;
    ``attention``: kinds of attention or of layers, all of which it has; ``max_parameters``: elements stored, as ``8B``.
    """
    everything = list_models(catalog)
    rows = attending(everything, attention)
    if name is not None:
        texts = {row.name: (row.name, row.title, row.model.hub_id or "", row.family) for row in everything}
        found = searched("model", name, texts)
        rows = [row for row in rows if row.name in found]
    if family is not None:
        kin = {row.name for row in of_family(everything, family)}
        rows = [row for row in rows if row.name in kin]
    if max_parameters is not None:
        most = billions(max_parameters)
        rows = [row for row in rows if to_billions(row.parameters) <= most]
    return ModelList(tuple(rows))


def hosts(
    catalog: Sequence[str] = (),
    *,
    name: str | None = None,
    vendor: str | None = None,
    category: str | None = None,
    min_hbm: str | None = None,
) -> HostList:
    """The hosts of the catalogs that pass every filter.

    ``name``: words that its name, an alias, its title or its GPU has; ``vendor``: the maker of the GPU, or cpu;
    ``min_hbm``: memory of one GPU (of a unified pool the whole).
    """
    everything = rows = list_hosts(catalog)
    if name is not None:
        found = searched("host", name, {row.host.name: words_of(row) for row in everything})
        rows = [row for row in rows if row.host.name in found]
    if vendor is not None:
        wanted = known_word("vendor", vendor, sorted({vendor_of(row.host) for row in everything}))
        rows = [row for row in rows if vendor_of(row.host) == wanted]
    if category is not None:
        wanted = known_word("category", category, CATEGORIES)
        rows = [row for row in rows if row.host.category == wanted]
    if min_hbm is not None:
        least = least_hbm_bytes(min_hbm)
        rows = [row for row in rows if row.host.gpu and row.host.gpu.hbm_bytes.best >= least]
    return HostList(tuple(rows))


def families() -> FamilyList:
    """The architectures that kvplan knows, by the file that reads them."""
    from kvplan.checkpoints.families import by_model_type

    found: dict[str, list[str]] = {}
    for model_type, module in sorted(by_model_type().items()):
        found.setdefault(module.__name__.rpartition(".")[2], []).append(model_type)
    return FamilyList({name: tuple(found[name]) for name in sorted(found)})


def vendor_of(host: Host) -> str:
    """The maker of the host's GPU; ``cpu`` where it has none."""
    return host.gpu.vendor.lower() if host.gpu else "cpu"


def unknown_figures(host: Host) -> tuple[str, ...]:
    """Figures that no source states; ``kvplan host show`` has the same names."""
    return sheet_of(host, ()).unknown


def _model(row: ModelRow) -> Json:
    return {
        "name": row.name,
        "title": row.title,
        "hub_id": row.model.hub_id,
        "family": row.family,
        "model_type": row.model.model_type,
        "attention": list(row.attention),
        "layer_kinds": list(layer_kinds(row)),
        "parameters": row.parameters,
        "active_parameters": row.model.active_elements,
        "layers": row.model.layers,
        "kv_bytes_per_token": whole(kv_of(row.model).kv_bytes_per_token),
        "max_context_tokens": row.max_context_tokens,
        "dtype": dtype_of(row.model),
        "source": row.source,
    }


def _host(row: HostListing) -> Json:
    host = row.host
    return {
        "name": host.name,
        "title": host.title,
        "aliases": list(row.aliases),
        "category": host.category,
        "vendor": vendor_of(host),
        "gpu": host.gpu.name if host.gpu else None,
        "gpus": host.gpus,
        "hbm_bytes": whole(host.gpu.hbm_bytes.best) if host.gpu else None,
        "hbm_bytes_per_s": host.gpu.hbm_bytes_per_s if host.gpu else None,
        "dram_bytes": whole(host.dram_bytes),
        "dram_bytes_per_s": host.dram_bytes_per_s.best if host.dram_bytes_per_s else None,
        "cpu_cores": host.cpu_cores.best if host.cpu_cores else None,
        "link": host.link.kind if host.link else None,
        "unified_memory": host.unified_memory,
        "usd_per_hour": host.usd_per_hour,
        "unknown": list(unknown_figures(host)),
        "file": row.file,
        "source": host.source,
    }
