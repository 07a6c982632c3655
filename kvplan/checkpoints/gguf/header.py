"""The header of a GGUF file: its keys and its table of tensors. The tensors themselves are never read.

Layout (versions 2 and 3, little-endian): magic, version, tensor count, key count, keys with typed values, then name,
dimensions, type and offset of each tensor; tensor data starts at the next multiple of ``general.alignment``.
Source: the GGUF specification of ggml and its reader, whose checks are made here too.
"""

from __future__ import annotations

import os
from struct import unpack
from typing import Any, Final, NamedTuple

from kvplan.checkpoints.files import GGUF_MAGIC, open_file, refuse_pointer, unreadable
from kvplan.checkpoints.gguf.cursor import Cursor
from kvplan.checkpoints.gguf.types import TENSOR_TYPES, TensorType
from kvplan.units import LARGEST_COUNT, shorten

_VERSIONS: Final = (2, 3)
_MOST_KEYS: Final = 2**12
"""Real files have 20 to 60."""
_MOST_TENSORS: Final = 2**18
_DEEPEST, _MOST_NESTED = 4, 64
"""Arrays inside arrays, of which no known key has any: how deep, and how many in an array."""
_LONGEST_NAME: Final = 2**16
_LONGEST_TEXT: Final = 4096
"""Longer texts (chat templates) are skipped."""
LONGEST_LIST: Final = 2**10
"""Longer arrays (tokenizers) are skipped: lists of one value a layer are far shorter."""
_MOST_DIMENSIONS: Final = 4
_LARGEST_ALIGNMENT: Final = 2**20
_BOOL, _STRING, _ARRAY = 7, 8, 9
_NUMBERS: Final = {
    0: ("B", 1), 1: ("b", 1), 2: ("H", 2), 3: ("h", 2), 4: ("I", 4), 5: ("i", 4), 6: ("f", 4), _BOOL: ("B", 1),
    10: ("Q", 8), 11: ("q", 8), 12: ("d", 8),
}  # fmt: skip
"""Value types that are numbers: letter in ``struct`` and bytes."""


class Skipped:
    """Stands for a value that is too long, or too strange, to be one that kvplan needs: no check lets it through."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


class Tensor(NamedTuple):
    """One line of the table of tensors."""

    name: str
    dimensions: tuple[int, ...]
    """Innermost first: a matrix has (inputs, outputs)."""
    type: TensorType
    elements: int

    @property
    def stored_bytes(self) -> int:
        """Elements over the elements of a block, times its bytes."""
        return self.elements // self.type.block_elements * self.type.block_bytes


class Header(NamedTuple):
    """What a file says of itself."""

    keys: dict[str, Any]
    """Numbers, flags, texts and lists of numbers; ``Skipped`` for what is long and for lists of texts."""
    lengths: dict[str, int]
    """Entries of every array, skipped ones included."""
    tensors: tuple[Tensor, ...]


def read_header(path: str, where: str) -> Header:
    """The header of one file, its length checked against what its tensors need."""
    with open_file(path, where) as stream:
        refuse_pointer(stream, where)
        try:
            return _read(Cursor(stream, os.fstat(stream.fileno()).st_size, where))
        except OSError as failure:
            raise unreadable(failure, where) from None


def _read(cursor: Cursor) -> Header:
    tensors, keys = _counts(cursor)
    values: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    seen: set[str] = set()
    for _ in range(keys):
        name = _name(cursor, "a key")
        if name in seen:
            raise cursor.wrong(f"states the key {shorten(name)!r} twice")
        seen.add(name)
        _read_value(cursor, name, values, lengths)
    alignment = _alignment(cursor, values)
    return Header(values, lengths, _read_tensors(cursor, tensors, alignment))


def _counts(cursor: Cursor) -> tuple[int, int]:
    """(tensors, keys) behind the magic and the version."""
    if cursor.file_bytes < 24:
        raise cursor.wrong("is too short for a GGUF file", help="download the file again")
    magic, version = cursor.take(4), cursor.number("I")
    if magic != GGUF_MAGIC:
        raise cursor.wrong("is no GGUF file: it does not start with GGUF")
    if version not in _VERSIONS:
        if version in (3 << 24, 2 << 24):
            raise cursor.wrong("is a big-endian GGUF file; kvplan reads little-endian ones")
        old = " (2023: engines read it no more)" if version == 1 else ""
        raise cursor.wrong(f"is GGUF version {version}{old}; kvplan reads versions 2 and 3")
    tensors, keys = cursor.count(), cursor.count()
    for what, count, most in (("keys", keys, _MOST_KEYS), ("tensors", tensors, _MOST_TENSORS)):
        if count > most:
            raise cursor.wrong(f"claims {count:,} {what}, more than any model has ({most:,}); it is damaged")
    return tensors, keys


def _name(cursor: Cursor, what: str) -> str:
    length = cursor.count()
    if length > _LONGEST_NAME:
        raise cursor.wrong(f"has {what} with a name of {length:,} bytes; it is damaged")
    raw = cursor.take(length)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise cursor.wrong(f"has {what} whose name is not UTF-8; it is damaged") from None


def _read_value(cursor: Cursor, name: str, values: dict[str, Any], lengths: dict[str, int]) -> None:
    """One value, kept unless it is long or a list of texts."""
    kind = int(cursor.number("I"))
    if kind in _NUMBERS:
        number = cursor.number(_NUMBERS[kind][0])
        values[name] = bool(number) if kind == _BOOL else number
    elif kind == _STRING:
        length = cursor.count()
        if length > _LONGEST_TEXT:
            cursor.skip(length)
            values[name] = Skipped("a long text")
        else:
            values[name] = cursor.take(length).decode(errors="replace")
    elif kind == _ARRAY:
        _read_array(cursor, name, values, lengths)
    else:
        raise cursor.wrong(f"key {shorten(name)!r} has a value of unknown type {kind}")


def _read_array(cursor: Cursor, name: str, values: dict[str, Any], lengths: dict[str, int]) -> None:
    kind, length = int(cursor.number("I")), cursor.count()
    lengths[name] = length
    if kind not in _NUMBERS or length > LONGEST_LIST:
        _skip_array(cursor, name, (kind, length), _DEEPEST)
        values[name] = Skipped(f"a list of {length:,} entries")
        return
    letter, entry_bytes = _NUMBERS[kind]
    _check_length(cursor, name, length, entry_bytes)
    entries = unpack(f"<{length}{letter}", cursor.take(length * entry_bytes))
    values[name] = [bool(entry) for entry in entries] if kind == _BOOL else list(entries)


def _skip_array(cursor: Cursor, name: str, head: tuple[int, int], depth: int) -> int:
    """Past the entries of an array with such a type and length; returns how many arrays it was."""
    kind, length = head
    arrays = 1
    if kind in _NUMBERS:
        entry_bytes = _NUMBERS[kind][1]
        _check_length(cursor, name, length, entry_bytes)
        cursor.skip(length * entry_bytes)
    elif kind == _STRING:
        _check_length(cursor, name, length, 8)
        cursor.skip_strings(length)
    elif kind == _ARRAY:
        for _ in range(min(length, _MOST_NESTED + 1)):
            if depth == 0 or arrays > _MOST_NESTED:
                raise cursor.wrong(f"array {shorten(name)!r} holds too many arrays inside arrays")
            arrays += _skip_array(cursor, name, (int(cursor.number("I")), cursor.count()), depth - 1)
    else:
        raise cursor.wrong(f"array {shorten(name)!r} has entries of unknown type {kind}")
    return arrays


def _check_length(cursor: Cursor, name: str, length: int, least_bytes: int) -> None:
    if length * least_bytes > cursor.remaining:
        raise cursor.wrong(f"array {shorten(name)!r} claims {length:,} entries, more than the file can hold",
                           help="download the file again")  # fmt: skip


def _alignment(cursor: Cursor, values: dict[str, Any]) -> int:
    alignment = values.get("general.alignment", 32)
    whole = isinstance(alignment, int) and not isinstance(alignment, bool)
    if not whole or not 1 <= alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise cursor.wrong(f"general.alignment must be a power of two (it is {shorten(repr(alignment))})")
    return int(alignment)


def _read_tensors(cursor: Cursor, count: int, alignment: int) -> tuple[Tensor, ...]:
    """The table of tensors, which must lie one behind the other, each at a multiple of the alignment."""
    tensors: list[Tensor] = []
    names: set[str] = set()
    end = 0
    for _ in range(count):
        tensor, offset = _read_tensor(cursor)
        if tensor.name in names:
            raise cursor.wrong(f"has the tensor {shorten(tensor.name)!r} twice")
        names.add(tensor.name)
        start = _up(end, alignment)
        if offset != start:
            raise cursor.wrong(
                f"tensor {shorten(tensor.name)!r} starts at byte {offset:,} of the data, where {start:,} was expected; "
                "the file is damaged"
            )
        end = start + tensor.stored_bytes
        tensors.append(tensor)
    needed = _up(cursor.position, alignment) + end
    if tensors and needed > cursor.file_bytes:
        raise cursor.wrong(
            f"is cut off: its tensors need {needed:,} bytes, the file has {cursor.file_bytes:,}",
            help="download the file again",
        )
    return tuple(tensors)


def _read_tensor(cursor: Cursor) -> tuple[Tensor, int]:
    name = _name(cursor, "a tensor")
    rank = int(cursor.number("I"))
    if rank > _MOST_DIMENSIONS:
        raise cursor.wrong(f"tensor {shorten(name)!r} has {rank:,} dimensions; ggml has up to {_MOST_DIMENSIONS}")
    dimensions = tuple(cursor.count() for _ in range(rank))
    kind, offset = int(cursor.number("I")), cursor.count()
    if kind not in TENSOR_TYPES:
        raise cursor.wrong(f"tensor {shorten(name)!r} has type {kind}, which kvplan does not know")
    elements = 1
    for dimension in dimensions:
        elements *= dimension
        if not 1 <= elements <= LARGEST_COUNT:
            raise cursor.wrong(f"tensor {shorten(name)!r} has impossible dimensions {list(dimensions)}")
    stored = TENSOR_TYPES[kind]
    if (dimensions[0] if dimensions else 1) % stored.block_elements:
        raise cursor.wrong(
            f"tensor {shorten(name)!r} has rows of {dimensions[0] if dimensions else 1:,} elements, which "
            f"{stored.name} can't store: its blocks have {stored.block_elements}"
        )
    return Tensor(name, dimensions, stored, elements), offset


def _up(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
