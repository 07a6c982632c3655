"""Paths -> files that may hold deployments. Reading is bounded, and what can't be read is said instead of raised."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence

from kvplan.deployments.forms import form_of
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.errors import InputError
from kvplan.units import MIB, shorten

LARGEST_FILE_BYTES = 4 * MIB
SUFFIXES = (".toml", ".yaml", ".yml", ".sh")
"""Files that a folder is searched for."""
_TRACES = (b"vllm", b"kvplan.deployment", b"max-model-len", b"max_model_len", b"tensor-parallel-size",
           b"tensor_parallel_size", b"gpu-memory-utilization", b"gpu_memory_utilization", b"max-num-", b"max_num_",
           b"kv-cache", b"kv_cache")  # fmt: skip
"""Every file that some form recognises has one of these."""
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages"}


def read_deployments(paths: Sequence[str]) -> tuple[list[tuple[FoundDeployment, Source]], list[Unreadable]]:
    """Every deployment in these files and folders. A path that does not exist is a usage error: it may be misspelt."""
    found: list[tuple[FoundDeployment, Source]] = []
    unreadable: list[Unreadable] = []
    for path, asked_for in _files(paths):
        source = read_source(path, asked_for=asked_for)
        if source is None or isinstance(source, Unreadable):
            unreadable += [source] if source is not None else []
            continue
        form = form_of(source)
        if form is None:
            if asked_for:
                advice = "forms: kvplan.deployment/1 TOML, vLLM --config YAML, shell scripts, Kubernetes manifests"
                unreadable.append(Unreadable(source.at(1), "no deployment is recognised in this file", advice))
            continue
        deployments, faults = form.read(source)
        found += [(item, source) for item in deployments]
        unreadable += faults
        if asked_for and not deployments and not faults:
            unreadable.append(Unreadable(source.at(1), f"no vLLM command is recognised in this {form.name} file"))
    return found, unreadable


def read_source(path: str, *, asked_for: bool = True) -> Source | Unreadable | None:
    """One file as text, or why not. ``-`` is standard input.

    None for a file that a folder happens to hold, which is no text and has nothing to do with deployments.
    """
    shown = shorten(path, 200)
    where = Place(shown, 1)
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST_FILE_BYTES + 1)
        else:
            data = _bytes_of(path)
    except OSError as error:
        return Unreadable(where, f"cannot be read: {error.strerror or type(error).__name__}")
    except ValueError as error:
        return Unreadable(where, f"cannot be read: {error}")
    if not asked_for and not any(word in data for word in _TRACES):
        return None
    if len(data) > LARGEST_FILE_BYTES:
        return Unreadable(where, "is larger than 4 MiB, so it is no deployment file")
    if b"\0" in data:
        return Unreadable(where, "is not a text file")
    try:
        folder = "" if path == "-" else os.path.dirname(path)
        return Source(shown, data.decode("utf-8-sig").replace("\r\n", "\n"), folder)
    except UnicodeDecodeError as error:
        return Unreadable(Place(shown, data.count(b"\n", 0, error.start) + 1), "is not UTF-8 text")


def _bytes_of(path: str) -> bytes:
    """At most one byte more than the limit; only regular files, for a pipe or a device may never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file (pipe it to kvplan check - instead)")
        return file.read(LARGEST_FILE_BYTES + 1)


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """(file, whether it was named itself), each once, in the order given, folders in the order of names."""
    seen: set[str] = set()
    for path in paths:
        for file, asked_for in _files_of(path):
            same = os.path.realpath(file) if file != "-" else file
            if same not in seen:
                seen.add(same)
                yield file, asked_for


def _files_of(path: str) -> Iterator[tuple[str, bool]]:
    if path == "-":
        yield path, True
        return
    try:
        exists, folder = os.path.lexists(path), os.path.isdir(path)
    except ValueError:
        exists, folder = False, False
    if not exists:
        raise InputError("no such file or folder", where=shorten(path, 200))
    if not folder:
        yield path, True
        return
    for top, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            file = os.path.join(top, name)
            if name.lower().endswith(SUFFIXES) and os.path.isfile(file):
                yield os.path.normpath(file), False
