"""Opening and parsing what somebody else wrote: regular files only, bounded, one clear line for everything else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Final

from kvplan.errors import InputError
from kvplan.units import MIB, shorten

GGUF_MAGIC: Final = b"GGUF"
"""The first bytes of every GGUF file."""
LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""How a git-lfs pointer begins: what a clone without the large files leaves in their place."""
WEIGHTS_SUFFIX: Final = ".safetensors"
INDEX_SUFFIX: Final = ".safetensors.index.json"

LARGEST_CONFIG_BYTES: Final = 32 * MIB
"""The largest config.json in use has some 100 kB."""

MOST_JSON_PARTS: Final = 8 * 10**6
"""Objects, lists and members of one JSON text: what bounds the memory that parsing it takes."""

Pairs = Callable[[list[tuple[str, Any]]], Any]


def open_file(file: str, where: str) -> BinaryIO:
    """A regular file open for reading; a folder, a pipe or a device is refused before it can block."""
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISDIR(mode):
            raise InputError("is a folder, where a file was expected", where=where)
        if not stat.S_ISREG(mode):
            raise InputError("is not a regular file", where=where)
        return open(file, "rb")
    except (OSError, ValueError) as error:
        raise unreadable(error, where) from None


def read_bytes(stream: BinaryIO, most: int, where: str) -> bytes:
    """Up to ``most`` bytes; a disk or a network folder may fail at any of them."""
    try:
        return stream.read(most)
    except OSError as error:
        raise unreadable(error, where) from None


def refuse_pointer(stream: BinaryIO, where: str) -> None:
    """InputError where a git-lfs pointer lies in the place of the file; else the stream is at its begin again."""
    start = read_bytes(stream, len(LFS_POINTER), where)
    if start == LFS_POINTER:
        raise InputError("is a git-lfs pointer, not the file that it stands for", where=where, help="git lfs pull")
    stream.seek(0)


def read_object(
    file: str, where: str, *, largest: int = LARGEST_CONFIG_BYTES, what: str = "config.json"
) -> dict[str, Any]:
    """The JSON object in a file of at most ``largest`` bytes; ``what`` is what it was expected to be."""
    with open_file(file, where) as stream:
        refuse_pointer(stream, where)
        data = read_bytes(stream, largest + 1, where)
    if len(data) > largest:
        raise InputError(f"is larger than {largest // MIB} MiB, too large for a {what}", where=where)
    if not data.strip():
        raise InputError("is empty, where a JSON object was expected", where=where)
    return json_object(data, where, what=what)


def json_object(data: bytes, where: str, *, what: str, pairs: Pairs | None = None) -> dict[str, Any]:
    """The JSON object in ``data``. ``pairs`` builds every object from its (key, value) pairs."""
    import json

    if sum(data.count(mark) for mark in (b"{", b"[", b",")) > MOST_JSON_PARTS:
        raise InputError(f"has more than {MOST_JSON_PARTS:,} parts, too many for a {what}", where=where)
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=pairs)
    except UnicodeDecodeError:
        raise InputError(f"is not a text file, so it is no {what}", where=where) from None
    except RecursionError:
        raise InputError(f"is nested too deeply for a {what}", where=where) from None
    except ValueError as error:
        raise InputError(f"is not valid JSON: {shorten(str(error), 120)}", where=where) from None
    if not isinstance(value, dict):
        raise InputError(f"holds no JSON object, so it is no {what}", where=where)
    return value


def few(names: Sequence[str]) -> str:
    """The first three names for a message, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(shorten(name) for name in names[:3]) + more


def unreadable(error: Exception, where: str) -> InputError:
    """What the system says about a path. ValueError: a null byte or a lone surrogate in it."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str) and os.path.islink(error.filename):
        target = shorten(os.readlink(error.filename), 120)  # a download cache that was moved or cleaned leaves these
        message = f"is a broken link: there is no such file {target}"
        return InputError(message, where=where, help="download the file again, or link it anew")
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", where=where, help="give a config.json or a folder that holds one")
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"can't be read: {reason}", where=where)
