"""The header of one safetensors file: which tensors it holds and where. The tensors themselves are never read.

A file is eight bytes with the header's length (little-endian), the header (a JSON object: name -> dtype, shape and
the two offsets of its bytes), and the bytes of the tensors, without gaps and to the last byte of the file. A file
that was cut off while it was copied breaks that, and is found out here rather than on the GPU.

Source: the format's description and its reference reader, huggingface/safetensors.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from typing import Any, BinaryIO, Final, NamedTuple

from kvplan.checkpoints.config import shown
from kvplan.checkpoints.files import LFS_POINTER, json_object, open_file, read_bytes
from kvplan.errors import InputError
from kvplan.units import LARGEST_COUNT, shorten

LARGEST_HEADER_BYTES: Final = 100 * 10**6
"""The limit of the format's reference reader."""

_LENGTH_BYTES: Final = 8
_METADATA = "__metadata__"
_KEYS = frozenset(("dtype", "shape", "data_offsets"))
_MOST_DIMENSIONS: Final = 64
_LONGEST_NAME: Final = 1000
_POINTER_BYTES: Final = 1024
"""Git LFS refuses to read a longer file as a pointer."""

DTYPE_BITS: Final = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


class Tensor(NamedTuple):
    """One tensor as the header states it."""

    name: str
    dtype: str
    elements: int
    """Product of its shape; a packed tensor has fewer than the weights in it."""
    begin: int
    end: int
    """Where its bytes are, counted from the end of the header."""

    @property
    def span_bytes(self) -> int:
        return self.end - self.begin


class Pointer(NamedTuple):
    """A git-lfs pointer: what a clone without the large files leaves in their place."""

    file_bytes: int
    """Length of the file that it stands for, header included."""


def read_header(file: str, where: str) -> list[Tensor] | Pointer:
    """All tensors of a file, in the order of their bytes, or the pointer that lies in its place."""
    with open_file(file, where) as stream:
        found = os.fstat(stream.fileno()).st_size
        start = read_bytes(stream, min(found, _POINTER_BYTES), where)
        if start.startswith(LFS_POINTER):
            return Pointer(_pointed_bytes(start, where))
        header = _header_text(stream, start, found, where)
    tensors = [_tensor(name, keys, where) for name, keys in _entries(header, where)]
    tensors.sort(key=lambda tensor: (tensor.begin, tensor.end))
    _check_bytes(tensors, found, _LENGTH_BYTES + len(header), where)
    return tensors


def _pointed_bytes(text: bytes, where: str) -> int:
    for line in text.decode("utf-8", "replace").splitlines():
        word, _, number = line.partition(" ")
        if word == "size" and number.isascii() and number.isdigit() and len(number) < 18:
            return int(number)
    raise InputError("is a git-lfs pointer that states no size", where=where, help="git lfs pull")


def _header_text(stream: BinaryIO, start: bytes, found: int, where: str) -> bytes:
    """The JSON text of the header; ``start`` are the first bytes of the stream, already read."""
    if len(start) < _LENGTH_BYTES:
        raise InputError(f"is cut off: {found} bytes are too few for a safetensors file", where=where)
    length: int = struct.unpack("<Q", start[:_LENGTH_BYTES])[0]
    if length > LARGEST_HEADER_BYTES:
        raise InputError(
            f"is no safetensors file: its header would have {length:,} bytes, and 100 MB are the limit", where=where
        )
    if _LENGTH_BYTES + length > found:
        raise _cut_off(_LENGTH_BYTES + length, found, where, least=True)
    text = start[_LENGTH_BYTES : _LENGTH_BYTES + length]
    text += read_bytes(stream, length - len(text), where)
    if len(text) < length:
        raise _cut_off(_LENGTH_BYTES + length, _LENGTH_BYTES + len(text), where, least=True)
    return text


def _entries(header: bytes, where: str) -> list[tuple[str, Any]]:
    """(name, keys) of every tensor; a name that stands twice is an error that plain JSON parsing would hide."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = counts.most_common(1)[0][0]
            raise InputError(f"its header names {shorten(twice)!r} twice", where=where)
        return found

    table = json_object(header, where, what="safetensors header", pairs=once)
    return [(name, keys) for name, keys in table.items() if name != _METADATA]


def _tensor(name: str, keys: object, where: str) -> Tensor:
    if len(name) > _LONGEST_NAME:
        raise _wrong(name, f"has a name of {len(name):,} characters", where)
    if not isinstance(keys, dict) or not keys.keys() >= _KEYS:
        raise _wrong(name, "must state dtype, shape and data_offsets", where)
    dtype, shape, offsets = keys["dtype"], keys["shape"], keys["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise _wrong(name, f"has a dtype that safetensors does not know: {shown(dtype)}", where)
    if not _are_counts(shape) or len(shape) > _MOST_DIMENSIONS:
        raise _wrong(name, f"has a shape that is no list of up to {_MOST_DIMENSIONS} counts", where)
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _wrong(name, "has data_offsets that are no two rising counts", where)
    elements = 1
    for side in shape:
        elements *= side
    begin, end = offsets
    if elements * DTYPE_BITS[dtype] != (end - begin) * 8:
        sides = shorten(" x ".join(str(side) for side in shape) or "1")
        raise _wrong(name, f"has {end - begin:,} bytes, which {sides} elements of {dtype} do not take", where)
    return Tensor(name, dtype, elements, begin, end)


def _wrong(name: str, what: str, where: str) -> InputError:
    return InputError(f"tensor {shorten(name)!r} {what}", where=where)


def _are_counts(value: object) -> bool:
    if not isinstance(value, list):
        return False
    for item in value:
        if type(item) is not int or not 0 <= item <= LARGEST_COUNT:
            return False
    return True


def _check_bytes(tensors: list[Tensor], found: int, header_bytes: int, where: str) -> None:
    """The tensors must fill the file to its last byte, each beginning where the one before it ends."""
    reached = 0
    for tensor in tensors:
        if tensor.begin != reached:
            what = "overlaps the one before it" if tensor.begin < reached else "leaves a gap before it"
            raise _wrong(tensor.name, f"{what}: its header is damaged", where)
        reached = tensor.end
    expected = header_bytes + reached
    if found < expected:
        raise _cut_off(expected, found, where)
    if found > expected:
        raise InputError(f"has {found:,} bytes, and its header accounts for {expected:,} of them", where=where)


def _cut_off(expected: int, found: int, where: str, *, least: bool = False) -> InputError:
    amount = f"at least {expected:,}" if least else f"{expected:,}"
    return InputError(
        f"is cut off: its header promises {amount} bytes, and the file has {found:,}", where=where,
        help="download it again",
    )  # fmt: skip
