"""Bytes of a GGUF header, front to back, through a buffer: bounded in memory and time whatever the file says."""

from __future__ import annotations

from struct import Struct, error
from typing import BinaryIO, Final

from kvplan.errors import InputError
from kvplan.units import MIB

LARGEST_HEADER_BYTES: Final = 128 * MIB
"""Headers of real models have 5 to 40 MB, nearly all of it the tokenizer's words."""
_CHUNK_BYTES: Final = 4 * MIB
_LENGTH: Final = Struct("<Q")
_NUMBERS: Final = {code: Struct("<" + code) for code in "BbHhIifQqd"}


class Cursor:
    """A place in a header. Every step forward is checked against the file's end and the largest header."""

    def __init__(self, stream: BinaryIO, file_bytes: int, where: str) -> None:
        self.file_bytes = file_bytes
        self.where = where
        self._stream = stream
        self._start = 0
        self._data = b""
        self._at = 0

    @property
    def position(self) -> int:
        """Bytes from the start of the file."""
        return self._start + self._at

    @property
    def remaining(self) -> int:
        """Bytes that the header can still have."""
        return max(0, min(self.file_bytes, LARGEST_HEADER_BYTES) - self.position)

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if self._at + count > len(self._data):
            self._load(self.position, count)
        found = self._data[self._at : self._at + count]
        self._at += count
        return found

    def skip(self, count: int) -> None:
        """Past the next ``count`` bytes without reading them."""
        if self._at + count > len(self._data):
            self._load(self.position + count, 0)
        else:
            self._at += count

    def number(self, code: str) -> int | float:
        """One little-endian number by its letter in ``struct``."""
        layout = _NUMBERS[code]
        value: int | float = layout.unpack(self.take(layout.size))[0]
        return value

    def count(self) -> int:
        """An unsigned 64-bit number: how many of something, or how long it is."""
        found: int = _LENGTH.unpack(self.take(8))[0]
        return found

    def skip_strings(self, count: int) -> None:
        """Past ``count`` strings, each a length and so many bytes: a tokenizer has some hundred thousand."""
        length_at = _LENGTH.unpack_from
        while count:
            data, at = self._data, self._at
            try:
                while count:
                    at += 8 + length_at(data, at)[0]
                    count -= 1
            except error:  # the next length is beyond the buffer
                pass
            self._load(self._start + at, 8 if count else 0)

    def wrong(self, message: str, help: str | None = None) -> InputError:
        """The one line for a header that can't be used."""
        return InputError(message, where=self.where, help=help)

    def _load(self, position: int, needed: int) -> None:
        """Make ``position`` the place to read from, with ``needed`` bytes at least in the buffer."""
        if position + needed > LARGEST_HEADER_BYTES and self.file_bytes >= LARGEST_HEADER_BYTES:
            raise self.wrong("has a header of more than 128 MiB, so it is no GGUF file that kvplan can use")
        if position + needed > self.file_bytes:
            raise self.wrong(
                f"is cut off inside its header: it has {self.file_bytes:,} bytes", help="download the file again"
            )
        self._stream.seek(position)
        self._data = self._stream.read(max(_CHUNK_BYTES, needed))
        self._start, self._at = position, 0
        if len(self._data) < needed:
            raise self.wrong("became shorter while it was read")
