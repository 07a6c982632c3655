"""Lists of models, hosts and architectures as cells that people read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.catalog.hardware import HostListing
from kvplan.catalog.models import ModelRow
from kvplan.domain.host import Host
from kvplan.render import humans
from kvplan.render.screen import Column
from kvplan.results.kv import kv_of
from kvplan.results.listings import FamilyList, HostList, ModelList, unknown_figures, vendor_of
from kvplan.units import to_gb_per_s

Listed = ModelList | HostList | FamilyList

_GROUPS = {
    "server": "Servers", "workstation": "Workstations", "desktop": "Desktops", "edge": "Edge", "mac": "Macs",
    "cloud": "Clouds", "cpu": "Without a GPU",
}  # fmt: skip
_MAKERS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "google": "Google", "aws": "AWS"}
_CLOUDS = {"AWS": "AWS", "Azure": "Azure", "GCP": "Google"}
_MISSED = {
    "dram_bytes": "host memory", "dram_bytes_per_s": "its rate", "cpu_cores": "cores", "link_bytes_per_s": "link",
    "flops": "matrix rate",
}  # fmt: skip
"""Figures that are often not known -> their words in the line below the list."""
_OWN_GROUP = 3
"""Models of one maker that get a heading; fewer are among the others at the end."""
_MEMORY = re.compile(r" \d+ GB$| \(unified[^)]*\)$")
"""The end of a GPU's name that its own column says."""


class Listing(NamedTuple):
    """A table, and which of its columns a narrower screen shows."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    choices: tuple[tuple[int, ...], ...]
    """Column numbers, the fullest set first."""
    footer: str
    groups: Sequence[str] = ()
    """A heading for each row; rows of one heading stand together. Empty where there are none."""


def rows_of(answer: Listed) -> Listing:
    """The cells of any list."""
    if isinstance(answer, ModelList):
        return _models(answer)
    if isinstance(answer, HostList):
        return _hosts(answer)
    return _families(answer)


def context_words(tokens: int | None) -> str:
    """``131,072``; ``?`` where the model's limit is not known."""
    return humans.UNKNOWN if tokens is None else humans.count(tokens)


def _models(answer: ModelList) -> Listing:
    columns = (
        Column("name"), Column("family"), Column("parameters", right=True), Column("active", right=True),
        Column("attention"), Column("layers", right=True), Column("KV/token", right=True),
        Column("context", right=True), Column("weights"), Column("hub id"),
    )  # fmt: skip
    choices = (
        tuple(range(10)), tuple(range(9)), (0, 1, 2, 4, 6, 7, 8), (0, 2, 4, 6, 7, 8), (0, 2, 4, 6, 7), (0, 2, 6, 7),
    )  # fmt: skip
    towers = sum(row.model.tower_elements_unknown for row in answer.rows)
    more = f" +: and a tower whose size its config does not give ({towers} models)." if towers else ""
    limits = sum(row.max_context_tokens is None for row in answer.rows)
    unknown = f" ?: not known: the context limit of {limits}." if limits else ""
    number = _counted(len(answer.rows), "model")
    footer = f"{number}. KV/token: 16 bits, all GPUs together.{more}{unknown} More: kvplan model show NAME."
    makers = Counter(_maker(row) for row in answer.rows)
    order = {maker: place for place, maker in enumerate(makers) if makers[maker] >= _OWN_GROUP}
    rows = sorted(answer.rows, key=lambda row: order.get(_maker(row), len(makers)))
    groups = [_maker(row) if _maker(row) in order else "Others" for row in rows]
    return Listing(columns, [_model(row) for row in rows], choices, footer, groups)


def _attention(words: tuple[str, ...]) -> str:
    """``GQA sliding MoE``. A compressed cache has its indexer and its compressor: saying so would fill the line."""
    implied = ("compressor", "indexer") if "compressed" in words else ()
    return " ".join(word for word in words if word not in implied)


def _maker(row: ModelRow) -> str:
    """``Qwen`` for Qwen 2.5 and Qwen 3: the first word of the family."""
    return row.family.partition(" ")[0]


def _model(row: ModelRow) -> tuple[str, ...]:
    model = row.model
    return (
        row.name,
        row.family,
        humans.billions(row.parameters) + ("+" if model.tower_elements_unknown else ""),
        humans.billions(model.active_elements) if model.experts else humans.NOTHING,
        _attention(row.attention),
        humans.count(model.layers),
        humans.bytes_per_token(kv_of(model).kv_bytes_per_token),
        context_words(row.max_context_tokens),
        humans.UNKNOWN if model.weights_unsettled else model.dtype,
        model.hub_id or humans.NOTHING,
    )


def _hosts(answer: HostList) -> Listing:
    columns = (
        Column("name"), Column("host"), Column("GPUs"), Column("HBM GiB", right=True), Column("DRAM GiB", right=True),
        Column("GB/s", right=True), Column("cores", right=True), Column("link"), Column("$/hour", right=True),
    )  # fmt: skip
    choices = (
        tuple(range(9)), (0, 2, 3, 4, 5, 6, 7, 8), (0, 2, 3, 4, 5, 6, 7), (0, 2, 3, 4, 6, 7), (0, 2, 3, 4, 6),
        (0, 2, 3, 4), (0, 2, 3),
    )  # fmt: skip
    rows = sorted(answer.rows, key=lambda row: _place(row.host))
    return Listing(columns, [_host(row) for row in rows], choices, _footer(answer), [_group(row.host) for row in rows])


def _place(host: Host) -> tuple[int, int]:
    """Groups in their order; inside of one the order of the files stays."""
    parts = [*_MAKERS.values()] if host.category in ("server", "desktop") else [*_CLOUDS.values()]
    part = _part(host)
    return list(_GROUPS).index(host.category), parts.index(part) if part in parts else len(parts)


def _group(host: Host) -> str:
    part = _part(host)
    return f"{_GROUPS[host.category]}, {part}" if part else _GROUPS[host.category]


def _part(host: Host) -> str:
    """Whose GPUs, in large groups; whose cloud, by the first word of the title."""
    if host.category in ("server", "desktop"):
        return _MAKERS.get(vendor_of(host), "others")
    return _CLOUDS.get(host.title.partition(" ")[0], "others") if host.category == "cloud" else ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _footer(answer: HostList) -> str:
    missing = Counter(name for row in answer.rows for name in unknown_figures(row.host))
    counts = [f"{words} of {missing[name]}" for name, words in _MISSED.items() if missing[name]]
    unknown = f" ?: not known, {', '.join(counts)}." if counts else ""
    number = _counted(len(answer.rows), "host")
    columns = "HBM: one GPU; of unified memory the whole pool. GB/s: of host memory, reached."
    return f"{number}. {columns}{unknown} More: kvplan host show NAME."


def _host(row: HostListing) -> tuple[str, ...]:
    host = row.host
    gpu = host.gpu
    known = humans.UNKNOWN if host.category == "cloud" else humans.NOTHING
    return (
        host.name,
        host.title,
        f"{host.gpus} x {_MEMORY.sub('', gpu.name)}" if gpu else humans.NOTHING,
        humans.gib(gpu.hbm_bytes.best) if gpu else humans.NOTHING,
        humans.gib_words(host.dram_bytes).removesuffix(" GiB") if host.dram_bytes else humans.UNKNOWN,
        humans.count(to_gb_per_s(host.dram_bytes_per_s.best)) if host.dram_bytes_per_s else humans.UNKNOWN,
        humans.count(host.cpu_cores.best) if host.cpu_cores else humans.UNKNOWN,
        humans.link_words(host.link.kind) if host.link else (humans.UNKNOWN if gpu else humans.NOTHING),
        f"{host.usd_per_hour:.2f}" if host.usd_per_hour is not None else known,
    )


def _families(answer: FamilyList) -> Listing:
    columns = (Column("family"), Column("model_type"))
    rows = [(name, model_type) for name, types in answer.families.items() for model_type in types]
    footer = f"{len(rows)} architectures whose KV layout kvplan knows. Any other is refused, not guessed."
    return Listing(columns, rows, ((0, 1),), footer)
