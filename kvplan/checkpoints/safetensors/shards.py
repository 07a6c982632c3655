"""Which safetensors files of a folder make up its checkpoint, and what their headers add up to.

An index names them; without one, ``model.safetensors``, the ``model-*`` shards or whatever there is, in this order.
A folder may hold the same weights twice (Mistral ships ``consolidated.safetensors`` beside ``model-*``): what is not
counted is said. Where the files are not there (only the index was fetched, or git-lfs left its pointers) the total
that the index or the pointers state is taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kvplan.checkpoints.config import shown
from kvplan.checkpoints.files import INDEX_SUFFIX, WEIGHTS_SUFFIX, few, read_object, unreadable
from kvplan.checkpoints.safetensors.header import LARGEST_HEADER_BYTES, Pointer, read_header
from kvplan.checkpoints.safetensors.packing import Packing
from kvplan.checkpoints.safetensors.tensors import Tally
from kvplan.errors import InputError
from kvplan.units import LARGEST_COUNT, shorten

MOST_SHARDS: Final = 4096
MOST_TENSORS: Final = 2**20
"""The largest checkpoint in use has some 500 shards and 300,000 tensors."""

INDEX: Final = f"model{INDEX_SUFFIX}"
"""The index of a checkpoint as nearly all writers name it."""
_SHARD = re.compile(r"^(.{1,200})-(\d{1,6})-of-(\d{1,6})\.safetensors$")
_ASIDE = ("adapter", "optimizer", "scheduler", "rng", "training", "lora", "controlnet", "tokenizer")
"""Files that lie beside a checkpoint and are none."""


class Checkpoint(NamedTuple):
    """What the files of a folder say about its weights."""

    tally: Tally | None = None
    """None where no header could be read."""
    total_bytes: int | None = None
    """The stated total, where there is no tally."""
    files: int = 0
    warnings: tuple[str, ...] = ()


class Index(NamedTuple):
    """An index of shards."""

    tensors_by_shard: dict[str, list[str]]
    total_bytes: int | None


def read_checkpoint(folder: str, packing: Packing) -> Checkpoint | None:
    """The safetensors checkpoint in a folder; None where it holds none."""
    names, indexes = _listed(folder)
    if not names and not indexes:
        return None
    index_name = INDEX if INDEX in indexes else next(iter(indexes), None)
    if index_name is None or (index_name != INDEX and any(name.startswith("model") for name in names)):
        return _read_files(folder, _without_index(folder, names), names, packing)
    index = read_index(os.path.join(folder, index_name))
    shards = list(index.tensors_by_shard)
    missing = [shard for shard in shards if not os.path.exists(os.path.join(folder, shard))]
    if len(missing) == len(shards):
        return _stated(index.total_bytes, f"none of the {len(shards)} files that {index_name} names is here")
    if missing:
        raise InputError(
            f"names {len(shards)} files, and {len(missing)} of them are missing: {few(missing)}",
            where=_where(folder, index_name), help="download the rest, or remove all of them to use the index alone",
        )  # fmt: skip
    return _read_files(folder, shards, names, packing, index)


def read_index(file: str) -> Index:
    """The shards that an index names, each with its tensors, and the total bytes that it states."""
    where = shorten(file, 200)
    keys = read_object(file, where, largest=LARGEST_HEADER_BYTES, what="safetensors index")
    places = keys.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise InputError("weight_map must name the file of each tensor", where=where)
    by_shard: dict[str, list[str]] = {}
    for tensor, shard in places.items():
        if not isinstance(shard, str) or not _is_plain(shard):
            raise InputError(f"weight_map must name files in the same folder (it has {shown(shard)})", where=where)
        by_shard.setdefault(shard, []).append(tensor)
    if len(by_shard) > MOST_SHARDS:
        raise InputError(f"names {len(by_shard):,} files; {MOST_SHARDS:,} are the limit", where=where)
    metadata = keys.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return Index(by_shard, _total(total, where))


def _total(stated: Any, where: str) -> int | None:
    """``total_size``, which some writers state as a float."""
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, (int, float)) or not 0 < stated <= LARGEST_COUNT:
        raise InputError(f"total_size must be a number of bytes (it is {shown(stated)})", where=where)
    return int(stated)


def _is_plain(name: str) -> bool:
    """A name of a file and not a path, so that an index can't lead out of its folder."""
    return name.endswith(WEIGHTS_SUFFIX) and not set(name) & set("/\\\0") and len(name) < 256


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """The safetensors files and their indexes in a folder, sorted."""
    names: list[str] = []
    indexes: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.name.endswith(WEIGHTS_SUFFIX):
                    names.append(entry.name)
                elif entry.name.endswith(INDEX_SUFFIX):
                    indexes.append(entry.name)
    except OSError as error:
        raise unreadable(error, shorten(folder, 200)) from None
    if len(names) > MOST_SHARDS:
        message = f"has {len(names):,} safetensors files; {MOST_SHARDS:,} are the limit"
        raise InputError(message, where=shorten(folder, 200))
    return sorted(names), sorted(indexes)


def _without_index(folder: str, names: list[str]) -> list[str]:
    """The files that make up the checkpoint where no index says so; all shards of one of them must be there."""
    if "model.safetensors" in names:
        return ["model.safetensors"]
    weights = [name for name in names if not name.startswith(_ASIDE)]
    models = [name for name in weights if name.startswith("model")]
    others = [name for name in weights if not name.startswith("consolidated")]
    chosen = models or others or weights
    sets: dict[tuple[str, str], int] = {}
    for name in chosen:
        found = _SHARD.match(name)
        if found:
            sets[found[1], found[3]] = sets.get((found[1], found[3]), 0) + 1
    for (stem, of), count in sets.items():
        if count < int(of):
            raise InputError(
                f"{int(of)} files {shorten(stem)}-*-of-{of}.safetensors belong together, and {count} of them are here",
                where=shorten(folder, 200), help="download the rest",
            )  # fmt: skip
    return chosen


def _read_files(
    folder: str, chosen: list[str], names: list[str], packing: Packing, index: Index | None = None
) -> Checkpoint | None:
    """Headers of the chosen files, held against the index; a total where a git-lfs pointer stands for one of them."""
    if not chosen:
        return None
    tally, seen = Tally(packing), _Seen(folder)
    pointers = 0
    total_bytes = 0
    for name in chosen:
        path = os.path.join(folder, name)
        header = read_header(path, _where(folder, name))
        if isinstance(header, Pointer):
            pointers += 1
            total_bytes += header.file_bytes
            continue
        total_bytes += sum(tensor.span_bytes for tensor in header)
        seen.check(name, [tensor.name for tensor in header], index)
        tally.add(header)
    beside = tuple(_beside(set(names).difference(chosen)))
    if pointers:
        stated = index.total_bytes if index is not None and index.total_bytes else total_bytes
        found = _stated(stated, f"{pointers} of {len(chosen)} files are git-lfs pointers (git lfs pull fetches them)")
        return found._replace(warnings=(*found.warnings, *beside))
    if not tally.tensors or not total_bytes:
        raise InputError("its safetensors files hold no tensors", where=shorten(folder, 200))
    if total_bytes > LARGEST_COUNT:
        raise InputError("its safetensors files hold more than 2^53 bytes", where=shorten(folder, 200))
    return Checkpoint(tally, total_bytes, len(chosen), beside)


class _Seen:
    """The tensors read so far: each may be in one file only, and every one that the index names must be in its file."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files: dict[str, str] = {}

    def check(self, file: str, tensors: list[str], index: Index | None) -> None:
        where = _where(self._folder, file)
        for name in tensors:
            if name in self._files:
                raise InputError(f"tensor {shorten(name)!r} is in {shorten(self._files[name])} as well", where=where)
            self._files[name] = file
        if len(self._files) > MOST_TENSORS:
            raise InputError(f"the files hold more than {MOST_TENSORS:,} tensors", where=shorten(self._folder, 200))
        for name in index.tensors_by_shard[file] if index is not None else ():
            if self._files.get(name) != file:
                raise InputError(f"does not hold tensor {shorten(name)!r}, which the index says it does", where=where)


def _stated(total_bytes: int | None, why: str) -> Checkpoint:
    if total_bytes is None:
        return Checkpoint(warnings=(f"{why}, and no total is stated: weight bytes are computed from the config",))
    return Checkpoint(total_bytes=total_bytes, warnings=(f"{why}: weight bytes are the total that is stated for them",))


def _beside(names: set[str]) -> Iterator[str]:
    left = sorted(name for name in names if not name.startswith(_ASIDE))
    if left:
        yield f"{few(left)} beside the checkpoint: not counted"


def _where(folder: str, name: str) -> str:
    return shorten(os.path.join(folder, name), 200)
