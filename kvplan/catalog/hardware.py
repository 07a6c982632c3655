"""Hosts and GPUs by name: the shipped ``hardware.toml``, the user's own files over it, or one file with one host.

Rows of user files are checked by ``hardware_rows`` first; shipped rows are known to be good by the tests and go to the
domain without loading pydantic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kvplan.catalog.files import CatalogFile, Table, catalog_files, parse, read_file
from kvplan.catalog.hardware_domain import LINK_CLASSES_GB_PER_S, Row, best_of, gpu_of, host_of, link_named
from kvplan.domain.host import Gpu, Host
from kvplan.errors import CatalogError, InputError, UnknownName, did_you_mean
from kvplan.units import shorten

__all__ = [
    "LINK_CLASSES_GB_PER_S",
    "HostListing",
    "gpu_memories",
    "host_table",
    "link_named",
    "list_hosts",
    "load_gpu",
    "load_host",
    "pool_sizes",
]

SHIPPED = "hardware.toml"

_POOL_LINE = re.compile(
    r'^(?:\[(hosts|gpus)\.(?:"([^"\n]+)"|([\w-]+))\]'
    r'|(gpu|gpus|dram_gib|gpu_share_fraction|hbm_gib) = (?:"([^"\n]+)"|(?:\{[^\n]*? best = )?([\d.]+)))',
    re.MULTILINE,
)
"""A row's header, or one of its figures: a number, the best of an interval, or the name of a GPU."""


class HostListing(NamedTuple):
    """One line of ``kvplan host list``."""

    host: Host
    aliases: tuple[str, ...]
    file: str


def host_table(extra: Sequence[str] = ()) -> Table:
    """All host rows: names, aliases, raw tables."""
    return Table("hosts", catalog_files(SHIPPED, extra))


def load_host(name: str, extra: Sequence[str] = ()) -> Host:
    """A host by name or alias in any case, or from a TOML file with one host table."""
    if "/" in name or os.sep in name or name.endswith(".toml"):
        return _host_of_file(name, extra)
    hosts, gpus = _tables(catalog_files(SHIPPED, extra))
    found = hosts.find(name)
    if found is not None:
        return host_of_row(found, *hosts.row(found), gpus)
    if os.path.isfile(name):
        return _host_of_file(name, extra)
    raise UnknownName.of("host", name, [*hosts.names(), *hosts.aliases()], listing="kvplan host list")


@lru_cache(maxsize=4)
def _tables(files: tuple[CatalogFile, ...]) -> tuple[Table, Table]:
    """Hosts and GPUs, looked through once for the same files: a search of hosts loads dozens of them."""
    return Table("hosts", files), Table("gpus", files)


def list_hosts(extra: Sequence[str] = ()) -> list[HostListing]:
    """Every host of the catalog in file order."""
    hosts, gpus = _tables(catalog_files(SHIPPED, extra))
    listings = []
    for name in hosts.names():
        row, file = hosts.row(name)
        listings.append(HostListing(host_of_row(name, row, file, gpus), tuple(row.get("aliases", ())), file.path))
    return listings


def pool_sizes(extra: Sequence[str] = ()) -> list[tuple[float, str]]:
    """(GiB of all GPUs together, host), smallest first: a light index for a search of hosts with GPUs."""
    files = catalog_files(SHIPPED, extra)
    if len(files) == 1:
        sections = _pool_figures(files[0].text)
        return _pools(sections["hosts"], sections["hosts"].__getitem__, sections["gpus"].get)
    hosts, gpus = _tables(files)

    def figures_of_gpu(name: str) -> Mapping[str, Any] | None:
        found = gpus.find(name)
        return None if found is None else gpus.figures(found, ("hbm_gib",))

    keys = ("gpu", "gpus", "dram_gib", "gpu_share_fraction")
    return _pools(hosts.names(), lambda name: hosts.figures(name, keys), figures_of_gpu)


def _pools(
    names: Iterable[str], figures: Callable[[str], Row], figures_of_gpu: Callable[[str], Row | None]
) -> list[tuple[float, str]]:
    found = []
    for name in names:
        row = figures(name)
        gpu = figures_of_gpu(row["gpu"]) if isinstance(row.get("gpu"), str) else None
        if gpu is None:
            continue
        each = best_of(gpu.get("hbm_gib"))
        pool = best_of(row.get("dram_gib")) or 0.0
        total = pool * (best_of(row.get("gpu_share_fraction")) or 1.0) if each is None else each * row.get("gpus", 1)
        found.append((total, name))
    return sorted(found)


def _pool_figures(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Section -> name -> what ``pool_sizes`` needs of the row, by the lines of the shipped file alone.

    Parsing 250 rows as TOML costs a twentieth of a whole ``fit``, and it is asked for wherever a plan does not fit.
    """
    sections: dict[str, dict[str, dict[str, Any]]] = {"hosts": {}, "gpus": {}}
    row: dict[str, Any] = {}
    for section, quoted, plain, key, word, figure in _POOL_LINE.findall(text):
        if section:
            row = sections[section][quoted or plain] = {}
        else:
            row[key] = word or (int(figure) if key == "gpus" else float(figure))
    return sections


def load_gpu(name: str, extra: Sequence[str] = ()) -> Gpu:
    """A GPU by name or alias; one that shares its host's memory can't be loaded without the host."""
    gpus = Table("gpus", catalog_files(SHIPPED, extra))
    found = gpus.find(name)
    if found is None:
        raise UnknownName.of("GPU", name, [*gpus.names(), *gpus.aliases()], listing="kvplan host list")
    row, file = _gpu_row(found, gpus)
    if "hbm_gib" not in row:
        raise InputError(f"{found} has no memory of its own: name a host that has it", help="kvplan host list")
    return gpu_of(found, row, file.path, pool_gib=None)


def gpu_memories(extra: Sequence[str] = ()) -> list[tuple[str, tuple[str, ...], float]]:
    """(name, aliases, visible GiB) of every GPU with memory of its own, in file order."""
    gpus = Table("gpus", catalog_files(SHIPPED, extra))
    aliases: dict[str, list[str]] = {}
    for alias, name in gpus.aliases().items():
        aliases.setdefault(name, []).append(alias)
    found = []
    for name in gpus.names():
        memory_gib = best_of(gpus.figures(name, ("hbm_gib",)).get("hbm_gib"))
        if memory_gib is not None:
            found.append((name, tuple(aliases.get(name, ())), memory_gib))
    return found


def _host_of_file(path: str, extra: Sequence[str]) -> Host:
    """The one host of a user's file, whose GPU may be a row of the same file."""
    name, row, file = host_row_of_file(path)
    shipped = catalog_files(SHIPPED, extra)
    own = [file] if isinstance(parse(file).get("hosts"), dict) else []
    return host_of_row(name, row, file, Table("gpus", [*shipped, *own]))


def host_row_of_file(path: str) -> tuple[str, Row, CatalogFile]:
    """The name and the row of the one host of a file: a ``[hosts.name]`` table, or a flat one with ``name = ...``."""
    file = read_file(path)
    tables = parse(file)
    if isinstance(tables.get("hosts"), dict):
        hosts = Table("hosts", [file])
        if len(hosts.names()) != 1:
            raise CatalogError(f"must hold one host table (it holds {len(hosts.names())})", where=file.path)
        name = hosts.names()[0]
        return name, *hosts.row(name)
    if not tables:
        raise CatalogError("holds no host table", where=file.path)
    name = tables.get("name", os.path.splitext(os.path.basename(path))[0])
    if not isinstance(name, str):
        raise CatalogError(f"name must be text (it is {shorten(repr(name))})", where=file.path)
    return name, {key: value for key, value in tables.items() if key != "name"}, file


def host_of_row(name: str, row: Row, file: CatalogFile, gpus: Table) -> Host:
    """The host of one row, checked unless it is a shipped one; ``gpus`` are the rows that it may name."""
    where = f"{file.path} [hosts.{shorten(name)}]"
    if not file.shipped:
        from kvplan.catalog.hardware_rows import checked_row

        row = checked_row("hosts", row, where)
    if "gpu" not in row:
        return host_of(name, row, None, file.path, unified=False)
    gpu_name, gpu_row, gpu_file = _gpu_of_host(name, row, file, gpus, where)
    unified = bool(gpu_row.get("unified")) or row.get("link") == "unified"
    pool_gib = best_of(row.get("dram_gib")) if unified else None
    if unified and pool_gib is None:
        raise CatalogError("dram_gib is missing (with unified memory it is the GPU's memory too)", where=where)
    if unified and row.get("link", "unified") != "unified":
        raise CatalogError(f"link can't be {row['link']}: this GPU shares the host's memory", where=where)
    if not unified and "hbm_gib" not in gpu_row:
        raise CatalogError("its GPU has no hbm_gib", where=where, help='for unified memory write link = "unified"')
    gpu = gpu_of(gpu_name, gpu_row, gpu_file.path, pool_gib)
    return host_of(name, row, gpu, file.path, unified=unified)


def _gpu_of_host(name: str, row: Row, file: CatalogFile, gpus: Table, where: str) -> tuple[str, Row, CatalogFile]:
    """The row of the host's GPU: written inside the host's own table, or named."""
    named = row["gpu"]
    if isinstance(named, dict):
        return f"GPU of {name}", named, file
    found = gpus.find(named)
    if found is None:
        guesses = did_you_mean(named, [*gpus.names(), *gpus.aliases()])
        help_text = f"did you mean {' or '.join(guesses)}?" if guesses else None
        raise CatalogError(f"gpu: the catalog has none named {shorten(named)!r}", where=where, help=help_text)
    return found, *_gpu_row(found, gpus)


def _gpu_row(name: str, gpus: Table) -> tuple[Row, CatalogFile]:
    row, file = gpus.row(name)
    if file.shipped:
        return row, file
    from kvplan.catalog.hardware_rows import checked_row

    return checked_row("gpus", row, f"{file.path} [gpus.{shorten(name)}]"), file
