"""A log file -> the lines that matter: bounded, without colours and progress bars that overwrite themselves.

Bytes are kept as bytes until a line is taken out: searching and cleaning 64 MiB of text takes twice as long.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

from kvplan.errors import InputError
from kvplan.units import MIB, shorten

LARGEST_LOG_BYTES: Final = 64 * MIB
"""Of a longer log the head is read: engines speak of their memory when they start."""
LONGEST_LINE: Final = 64 * 1024

_COLOURS = re.compile(rb"(?:\x1b|#033|\\u001b|\\x1b|\\033|\^\[)(?:\[[0-9;:?]*[A-Za-z]|\][^\x07\n]{0,200}\x07)")
"""Escape sequences, as a terminal has them and as syslog, JSON and ``cat -v`` write them."""
_WRAPPED_KEYS = ("log", "message", "msg", "line", "textPayload", "MESSAGE")


class LogText(NamedTuple):
    """A log in UTF-8, lines ended by line feeds."""

    name: str
    data: bytes
    notes: tuple[str, ...] = ()


def read_log(path: str) -> LogText:
    """The head of a file, of a pipe, or of stdin (``-``); InputError where it is none of a text."""
    where = shorten(path, 200)
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST_LOG_BYTES + 1)
        elif os.path.isdir(path):
            raise InputError("is a folder, not a log", where=where)
        else:
            with open(path, "rb") as stream:
                data = stream.read(LARGEST_LOG_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"can't be read: {getattr(error, 'strerror', None) or error}", where=where) from None
    notes: tuple[str, ...] = ()
    if len(data) > LARGEST_LOG_BYTES:
        notes = ("the log is longer than 64 MiB: its first 64 MiB were read",)
    return LogText(where, cleaned(_text(data[:LARGEST_LOG_BYTES], where)), notes)


def _text(data: bytes, where: str) -> bytes:
    """The same where it is text in UTF-8 or nearly so; UTF-16, as PowerShell writes it, made UTF-8."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    if data[:2] == b"\x1f\x8b" or data[:4] in (b"(\xb5/\xfd", b"PK\x03\x04"):
        raise InputError("is compressed", where=where, help="unpack it first, e.g. zcat LOG | kvplan calibrate -")
    if data.count(b"\0", 0, MIB) > MIB // 64 or (b"\0" in data[:512] and len(data) > 0):
        raise InputError("is not a text file", where=where)
    if not data.strip():
        raise InputError("is empty", where=where)
    return data


def cleaned(data: bytes) -> bytes:
    """Without colours; what a carriage return would overwrite is a line of its own."""
    return _COLOURS.sub(b"", data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def lines_with(data: bytes, keywords: Iterable[str]) -> list[str]:
    """The lines that hold any of the keywords, in order, each once and cut at LONGEST_LINE.

    Searching the whole text word by word is far faster than looking at millions of lines one by one.
    """
    found: dict[int, int] = {}
    for word in map(str.encode, keywords):
        at = data.find(word)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            found[start] = min(end, start + LONGEST_LINE)
            at = data.find(word, end)
    return [unwrapped(data[start:end].decode("utf-8", "replace")) for start, end in sorted(found.items())]


def unwrapped(line: str) -> str:
    """The message of a line that a container runtime wrote as a JSON object; other lines as they are."""
    if not line.startswith("{"):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    texts = (record.get(key) for key in _WRAPPED_KEYS) if isinstance(record, dict) else ()
    text = next((text for text in texts if isinstance(text, str)), line)
    return cleaned(text.encode("utf-8", "replace")).decode("utf-8", "replace").replace("\n", " ")
