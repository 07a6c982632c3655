"""A model on the Hugging Face Hub, for ``--fetch``: its config and the headers of its weights, never the weights.

What was fetched is laid out as a folder in which every file of weights has its header and its length and nothing
else, so that one reader serves both and all its checks hold. Such files take no room on the disk; where a file system
has no files with holes, git-lfs pointers stand in for them, which tell the length alone.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kvplan.checkpoints.files import LARGEST_CONFIG_BYTES, LFS_POINTER, WEIGHTS_SUFFIX, few
from kvplan.checkpoints.hub_client import HubRepository, quiet
from kvplan.checkpoints.hub_id import HUB_ID
from kvplan.checkpoints.read import read_model
from kvplan.checkpoints.safetensors.shards import INDEX
from kvplan.domain.model import Model
from kvplan.errors import CannotJudge, InputError, KvplanError
from kvplan.units import MIB, shorten

MOST_FILES: Final = 1024
"""Files of weights whose headers are read; the largest checkpoint in use has some 500."""
MOST_HEADER_BYTES: Final = 25 * 10**6
"""Of one file; the library of the Hub has the same limit."""
MOST_BYTES: Final = 512 * MIB
"""Of all headers of a repository."""

_CONFIG: Final = "config.json"
_SMALL_FILES: Final = {
    _CONFIG: LARGEST_CONFIG_BYTES, "hf_quant_config.json": LARGEST_CONFIG_BYTES, "quantize_config.json": MIB,
    INDEX: 100 * MIB,
}  # fmt: skip
"""Files that say what a checkpoint is, and the longest that each may be."""
_ASIDE: Final = ("consolidated", "adapter", "optimizer")
_FIRST_BYTES: Final = 100_000
"""The headers of 97 of 100 files are shorter: one request serves. Source: huggingface_hub, over the top 1000 models."""
_LENGTH_BYTES: Final = 8
_AT_ONCE: Final = 8


class Fetched(NamedTuple):
    """What was fetched of a repository."""

    folder: str
    hub_id: str
    commit: str | None
    warnings: tuple[str, ...]

    def named(self, model: Model) -> Model:
        """The model of the folder as one of the Hub."""
        at = f"@{self.commit[:12]}" if self.commit else ""
        _, separator, weights = model.source.partition("; ")
        return model._replace(
            name=self.hub_id.partition("/")[2],
            hub_id=self.hub_id,
            source=f"{self.hub_id}{at} on the Hugging Face Hub{separator}{weights}",
            warnings=(*model.warnings, *self.warnings),
        )


@lru_cache(maxsize=16)
def read_hub(text: str) -> Model:
    """The model of a hub id, ``owner/name`` or ``owner/name@revision``; asked for once in a process."""
    with fetched(text) as found:
        return found.named(read_model(found.folder))


@contextmanager
def fetched(text: str) -> Iterator[Fetched]:
    """A folder with what the Hub says about a model, for as long as the block runs; errors in it name the hub id."""
    match = HUB_ID.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not the name of a model on the Hub", help="owner/name, or owner/name@revision")
    folder = tempfile.mkdtemp(prefix="kvplan-")
    try:
        with quiet():
            repository = HubRepository(match[1], match[2])
            warnings = _fill(folder, repository)
        yield Fetched(folder, match[1], repository.commit or match[2], warnings)
    except KvplanError as error:
        if error.where is not None:
            error.where = error.where.replace(folder, text)
        raise
    except OSError as error:
        raise InputError(f"can't keep what was fetched: {error.strerror}", where=text) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(folder: str, repository: HubRepository) -> tuple[str, ...]:
    """Lay out the folder; what is to be said about it."""
    files = _cached_files(repository) if repository.offline else repository.listing()
    if _CONFIG not in files:
        raise _no_config(sorted(files), repository.where)
    for name, most_bytes in _SMALL_FILES.items():
        if name in files:
            path = repository.small_file(name, most_bytes)
            if os.path.getsize(path) > most_bytes:
                raise InputError(f"{name} is too large: {most_bytes:,} bytes are the limit", where=repository.where)
            shutil.copyfile(path, os.path.join(folder, name))
    weights = [name for name in files if name.endswith(WEIGHTS_SUFFIX)]
    shards = _shards(os.path.join(folder, INDEX), weights)
    for name in set(weights) - set(shards):
        _write_pointer(os.path.join(folder, name), files[name] or 1)
    if len(shards) > MOST_FILES:
        return (f"more than {MOST_FILES:,} files of weights: weight bytes are computed from the config",)
    _write_headers(folder, shards, repository)
    return ()


def _shards(index: str, weights: list[str]) -> list[str]:
    """The files of weights whose headers are needed: those that the index names, else all that make up a model."""
    if os.path.exists(index):
        named = _index_files(index)
        return [name for name in weights if name in named]
    return [name for name in weights if not name.startswith(_ASIDE)] or weights


def _index_files(index: str) -> set[str]:
    """What an index names; one that can't be read is left to the reader of the folder, which says why."""
    try:
        with open(index, encoding="utf-8") as stream:
            places: Any = json.load(stream)["weight_map"].values()
        return {name for name in places if isinstance(name, str)}
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return set()


def _write_headers(folder: str, shards: list[str], repository: HubRepository) -> None:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(_AT_ONCE)
    headers = pool.map(lambda name: _header(name, repository), shards)
    total = 0
    try:
        for name, (header, file_bytes) in zip(shards, headers, strict=True):
            total += len(header)
            if total > MOST_BYTES:
                raise InputError(f"its headers have more than {MOST_BYTES:,} bytes", where=repository.where)
            _write_hollow(os.path.join(folder, name), header, file_bytes)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _header(name: str, repository: HubRepository) -> tuple[bytes, int]:
    """The first bytes of a file of weights, with its whole header, and the length of the file."""
    path = repository.cached(name)
    if path is not None:
        file_bytes = os.path.getsize(path)
        with open(path, "rb") as stream:
            return stream.read(_LENGTH_BYTES + _header_length(stream.read(_LENGTH_BYTES))), file_bytes
    first = repository.span(name, 0, _FIRST_BYTES)
    stop = _LENGTH_BYTES + _header_length(first.data)
    if stop > MOST_HEADER_BYTES:
        message = f"{shorten(name)} would have a header of {stop:,} bytes, and {MOST_HEADER_BYTES:,} are the limit"
        raise InputError(message, where=repository.where)
    data = first.data[:stop]
    if stop > len(first.data) and first.file_bytes > len(first.data):
        data += repository.span(name, len(data), stop).data
    return data, first.file_bytes


def _header_length(start: bytes) -> int:
    """What a file says of its header's length; 0 where it is too short to say it, which its reader finds out."""
    if len(start) < _LENGTH_BYTES:
        return 0
    length: int = struct.unpack("<Q", start[:_LENGTH_BYTES])[0]
    return length


def _write_hollow(path: str, header: bytes, file_bytes: int) -> None:
    """A file with these first bytes and this length, and nothing in between."""
    try:
        with open(path, "wb") as stream:
            stream.write(header)
            stream.truncate(file_bytes)
    except OSError:
        _write_pointer(path, file_bytes)


def _write_pointer(path: str, file_bytes: int) -> None:
    text = f"{LFS_POINTER.decode()}v1\noid sha256:{'0' * 64}\nsize {file_bytes}\n"
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


def _cached_files(repository: HubRepository) -> dict[str, int | None]:
    """Offline: what the library's cache has of the repository, whole files of weights included."""
    config = repository.cached(_CONFIG)
    if config is None:
        raise InputError(
            "HF_HUB_OFFLINE is set, and its config.json is not in the cache", where=repository.where,
            help="fetch it once without HF_HUB_OFFLINE",
        )  # fmt: skip
    repository.commit = os.path.basename(os.path.dirname(config))
    index = repository.cached(INDEX)
    shards = sorted(_index_files(index)) if index else ["model.safetensors"]
    return dict.fromkeys(name for name in (*_SMALL_FILES, *shards) if repository.cached(name))


def _no_config(names: list[str], where: str) -> KvplanError:
    gguf = [name for name in names if name.lower().endswith(".gguf")]
    if gguf:
        return InputError(
            f"has GGUF files and no config.json: {few(gguf)}", where=where,
            help="download one of them and give its path, or fetch the model that they were made of",
        )  # fmt: skip
    return CannotJudge("has no config.json, so its KV layout is not known", where=where)
