"""``kvplan model list`` and ``kvplan host list``: what the catalogs hold, filtered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvplan import __version__
from kvplan.catalog.hardware import HostListing, list_hosts
from kvplan.catalog.models import ModelRow, list_models
from kvplan.domain.host import Host
from kvplan.errors import InputError, UnknownName
from kvplan.results.json_shapes import Json, whole
from kvplan.results.kv import kv_of
from kvplan.units import gib, parse_bytes, shorten

MODELS_SCHEMA = "kvplan.models/1"
HOSTS_SCHEMA = "kvplan.hosts/1"
FAMILIES_SCHEMA = "kvplan.families/1"

ATTENTION_KINDS = ("MHA", "GQA", "MQA", "MLA", "sliding", "MoE")


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


def models(catalog: Sequence[str] = (), *, family: str | None = None, attention: Sequence[str] = ()) -> ModelList:
    """The models of the catalogs. ``family``: part of its name, or a model_type; ``attention``: all of them hold."""
    rows = list_models(catalog)
    if family is not None:
        rows = _of_family(rows, family)
    for kind in attention:
        wanted = kind.lower()
        if wanted not in (known.lower() for known in ATTENTION_KINDS):
            known_kinds = "known: " + ", ".join(ATTENTION_KINDS)
            raise UnknownName.of("attention kind", kind, ATTENTION_KINDS, listing=known_kinds)
        rows = [row for row in rows if wanted in (found.lower() for found in row.attention)]
    return ModelList(tuple(rows))


def hosts(catalog: Sequence[str] = (), *, vendor: str | None = None, min_hbm: str | None = None) -> HostList:
    """The hosts of the catalogs; ``vendor`` is the maker of the GPU, ``min_hbm`` the memory of all GPUs together."""
    rows = list_hosts(catalog)
    if vendor is not None:
        known = sorted({vendor_of(row.host) for row in rows})
        if vendor.lower() not in known:
            raise UnknownName.of("vendor", vendor, known, listing="known: " + ", ".join(known))
        rows = [row for row in rows if vendor_of(row.host) == vendor.lower()]
    if min_hbm is not None:
        least = _least_hbm_bytes(min_hbm)
        rows = [row for row in rows if total_hbm_bytes(row.host) >= least]
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


def total_hbm_bytes(host: Host) -> float:
    """Memory of all GPUs together; 0 without a GPU."""
    return host.gpu.hbm_bytes.best * host.gpus if host.gpu else 0.0


def _of_family(rows: list[ModelRow], family: str) -> list[ModelRow]:
    wanted = family.lower()
    found = [row for row in rows if wanted in (row.family.lower(), row.model.model_type.lower())]
    found = found or [row for row in rows if _squeezed(wanted) in _squeezed(row.family)]
    if not found:
        known = sorted({row.family for row in rows} | {row.model.model_type for row in rows})
        raise UnknownName.of("family", family, known, listing="kvplan model list --families")
    return found


def _squeezed(text: str) -> str:
    """``Qwen 2.5`` and ``qwen2.5`` are the same family."""
    return "".join(character for character in text.lower() if character.isalnum() or character == ".")


def _least_hbm_bytes(text: str) -> float:
    """``80GB``, ``24GiB``; a bare number is GiB."""
    if text.strip().replace(".", "", 1).isdigit():
        return gib(float(text))
    try:
        return float(parse_bytes(text))
    except InputError:
        raise InputError(f"--min-hbm must look like 80GB, 48GiB or 48 (it is {shorten(text)!r})") from None


def _model(row: ModelRow) -> Json:
    return {
        "name": row.name,
        "title": row.title,
        "hub_id": row.model.hub_id,
        "family": row.family,
        "model_type": row.model.model_type,
        "attention": list(row.attention),
        "parameters": row.parameters,
        "active_parameters": row.model.active_elements,
        "layers": row.model.layers,
        "kv_bytes_per_token": whole(kv_of(row.model).kv_bytes_per_token),
        "max_context_tokens": row.max_context_tokens,
        "dtype": row.model.dtype,
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
        "dram_bytes": whole(host.dram_bytes),
        "cpu_cores": host.cpu_cores.best if host.cpu_cores else None,
        "link": host.link.kind if host.link else None,
        "unified_memory": host.unified_memory,
        "usd_per_hour": host.usd_per_hour,
        "file": row.file,
        "source": host.source,
    }
