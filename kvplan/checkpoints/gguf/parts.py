"""A GGUF model in one file or in many: any part of ``name-00001-of-00003.gguf`` stands for the whole.

The first part has the keys, every part a table of its own tensors and ``split.no``, ``split.count`` and
``split.tensors.count``. Source: llama.cpp's gguf-split and its loader.
"""

from __future__ import annotations

import os
import re
from typing import Final

from kvplan.checkpoints.gguf.header import Header, Tensor, read_header
from kvplan.errors import InputError
from kvplan.units import shorten

_PART: Final = re.compile(r"^(?P<stem>.*)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf$", re.IGNORECASE | re.DOTALL)
_MOST_PARTS: Final = 512


def model_stem(path: str) -> str:
    """The file's name without its ending and without the number of its part."""
    name = os.path.basename(path)
    match = _PART.match(name)
    return match["stem"] if match else name.removesuffix(".gguf").removesuffix(".GGUF")


def read_parts(path: str, where: str) -> Header:
    """The header of a file, joined with those of the other parts where it is one part of many."""
    given = read_header(path, where)
    parts = given.keys.get("split.count", 1)
    if not isinstance(parts, int) or isinstance(parts, bool) or not 0 <= parts <= _MOST_PARTS:
        raise InputError(f"split.count must be up to {_MOST_PARTS} (it is {shorten(repr(parts))})", where=where)
    if parts <= 1:
        return given
    folder, name = os.path.split(path)
    match = _PART.match(name)
    if match is None or int(match["parts"]) != parts or not 1 <= int(match["part"]) <= parts:
        raise InputError(
            f"is one of {parts} parts of a model, but not named so: the others can't be found", where=where,
            help=f"keep the names that end in -00001-of-{parts:05}.gguf",
        )  # fmt: skip
    return _join(folder, match, int(match["part"]), given, where)


def _join(folder: str, match: re.Match[str], own: int, given: Header, where: str) -> Header:
    """All parts in order; ``given`` is part number ``own``, counted from 1."""
    parts = int(match["parts"])
    headers: list[Header] = []
    for number in range(1, parts + 1):
        name = f"{match['stem']}-{number:05}-of-{match['parts']}{match[0][-5:]}"
        file = os.path.join(folder, name)
        here = where if number == own else shorten(file, 200)
        if number != own and not os.path.exists(file):
            raise InputError(
                f"part {number} of {parts} is missing: {shorten(name, 120)}", where=where,
                help="put all parts in one folder",
            )  # fmt: skip
        header = given if number == own else read_header(file, here)
        _check_part(header, number, parts, here)
        headers.append(header)
    tensors = _all_tensors(headers, where)
    return Header(headers[0].keys, headers[0].lengths, tensors)


def _check_part(header: Header, number: int, parts: int, where: str) -> None:
    stated, count = header.keys.get("split.no"), header.keys.get("split.count")
    if count != parts or stated != number - 1:
        raise InputError(
            f"is named part {number} of {parts}, but says that it is another: split.no {shorten(repr(stated))}, "
            f"split.count {shorten(repr(count))}",
            where=where,
        )


def _all_tensors(headers: list[Header], where: str) -> tuple[Tensor, ...]:
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    stated = headers[0].keys.get("split.tensors.count")
    if stated is not None and stated != len(tensors):
        raise InputError(
            f"its parts have {len(tensors):,} tensors, split.tensors.count says {shorten(repr(stated))}; "
            "they don't belong together",
            where=where,
        )
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise InputError("its parts repeat a tensor; they don't belong together", where=where)
    return tensors
