"""Lists of models, hosts and architectures as cells that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.catalog.hardware import HostListing
from kvplan.catalog.models import ModelRow
from kvplan.render import humans
from kvplan.render.screen import Column
from kvplan.results.kv import kv_of
from kvplan.results.listings import FamilyList, HostList, ModelList
from kvplan.units import GIB, MIB, to_billions, to_gib

Listed = ModelList | HostList | FamilyList


class Listing(NamedTuple):
    """A table, and which of its columns a narrower screen shows."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    choices: tuple[tuple[int, ...], ...]
    """Column numbers, the fullest set first."""
    footer: str


def rows_of(answer: Listed) -> Listing:
    """The cells of any list."""
    if isinstance(answer, ModelList):
        return _models(answer)
    if isinstance(answer, HostList):
        return _hosts(answer)
    return _families(answer)


def billions(elements: float) -> str:
    """``8.03B``, ``671B``."""
    return f"{humans.number(to_billions(elements))}B"


def window_words(window_bytes: float) -> str:
    """``0.406 GiB``, ``4.5 MiB``."""
    if window_bytes < GIB / 10:
        return f"{humans.number(window_bytes / MIB)} MiB"
    return f"{humans.number(to_gib(window_bytes))} GiB"


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
    footer = f"{len(answer.rows)} models. KV/token: 16 bits, all GPUs together. More: kvplan model show NAME."
    return Listing(columns, [_model(row) for row in answer.rows], choices, footer)


def _model(row: ModelRow) -> tuple[str, ...]:
    model = row.model
    return (
        row.name,
        row.family,
        billions(row.parameters),
        billions(model.active_elements) if model.experts else humans.NOTHING,
        " ".join(row.attention),
        humans.count(model.layers),
        humans.bytes_per_token(kv_of(model).kv_bytes_per_token),
        context_words(row.max_context_tokens),
        model.dtype,
        model.hub_id or humans.NOTHING,
    )


def _hosts(answer: HostList) -> Listing:
    columns = (
        Column("name"), Column("host"), Column("GPUs"), Column("HBM GiB", right=True), Column("DRAM GiB", right=True),
        Column("cores", right=True), Column("link"), Column("$/hour", right=True),
    )  # fmt: skip
    choices = (tuple(range(8)), (0, 2, 3, 4, 5, 6, 7), (0, 2, 3, 4, 5, 6), (0, 2, 3, 4, 6), (0, 2, 3, 4))
    footer = f"{len(answer.rows)} hosts. HBM: one GPU. ?: not known. More: kvplan host show NAME."
    return Listing(columns, [_host(row) for row in answer.rows], choices, footer)


def _host(row: HostListing) -> tuple[str, ...]:
    host = row.host
    gpu = host.gpu
    known = humans.UNKNOWN if host.category == "cloud" else humans.NOTHING
    return (
        host.name,
        host.title,
        f"{host.gpus} x {gpu.name}" if gpu else humans.NOTHING,
        humans.gib(gpu.hbm_bytes.best) if gpu else humans.NOTHING,
        humans.gib_words(host.dram_bytes).removesuffix(" GiB") if host.dram_bytes else humans.UNKNOWN,
        humans.count(host.cpu_cores.best) if host.cpu_cores else humans.UNKNOWN,
        humans.link_words(host.link.kind) if host.link else (humans.UNKNOWN if gpu else humans.NOTHING),
        f"{host.usd_per_hour:.2f}" if host.usd_per_hour is not None else known,
    )


def _families(answer: FamilyList) -> Listing:
    columns = (Column("family"), Column("model_type"))
    rows = [(name, model_type) for name, types in answer.families.items() for model_type in types]
    footer = f"{len(rows)} architectures whose KV layout kvplan knows. Any other is refused, not guessed."
    return Listing(columns, rows, ((0, 1),), footer)
