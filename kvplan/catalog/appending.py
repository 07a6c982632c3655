"""One row into a user's catalog file: everything else in the file stays as it is, byte for byte, or nothing changes.

The new text is parsed and held against the old one before it takes the file's place, in one step (a file written
beside it, then renamed over it), under a lock that other imports wait for.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from kvplan.catalog.files import CatalogFile, file_of, parse, read_whole
from kvplan.catalog.row_text import around_row
from kvplan.errors import CatalogError, InputError
from kvplan.units import shorten

LOCK_WAIT_S: Final = 10.0
_BY_HAND: Final = "edit the file by hand, or write to another one with --catalog FILE"


class OpenCatalog:
    """A catalog file while it is changed."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        """Where the bytes are: a symbolic link is written through."""
        self.where = shorten(path, 200)
        self.found = os.path.lexists(self.path)
        self.data = read_whole(self.path) if self.found else b""
        self.tables = parse(file_of(self.where, self.data))

    def row(self, section: str, name: str) -> Any:
        """What the file has under a name; None where it has no such row."""
        rows = self.tables.get(section)
        return rows.get(name) if isinstance(rows, dict) else None

    def with_row(self, section: str, name: str, text: str, row: Mapping[str, Any]) -> bytes:
        """The file's bytes with this row: in the place of the one of the same name, else at the end."""
        new_line = "\r\n" if b"\r\n" in self.data else "\n"
        block = text.replace("\n", new_line).encode("utf-8")
        old = self.data
        if self.row(section, name) is not None:
            before, after = around_row(old, section, name)
            data = before + block + after
        else:
            ended = old if not old or old.endswith(b"\n") else old + new_line.encode()
            gap = new_line.encode() if ended.removeprefix(b"\xef\xbb\xbf") and not ended.endswith(b"\n\n") else b""
            data = ended + gap + block
        self._check(section, name, row, file_of(self.where, data))
        return data

    def replace(self, data: bytes) -> None:
        """Put these bytes in the file's place."""
        if self.found and not os.access(self.path, os.W_OK):
            raise InputError("is read-only", where=self.where)
        if os.path.lexists(self.path) != self.found or (self.found and read_whole(self.path) != self.data):
            raise InputError("was changed by another program meanwhile: nothing was written", where=self.where)
        folder = os.path.dirname(self.path)
        temporary = ""
        try:
            handle, temporary = tempfile.mkstemp(prefix=".kvplan-", suffix=".tmp", dir=folder)
            with open(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            self._keep_mode(temporary)
            os.replace(temporary, self.path)
        except OSError as error:
            raise InputError(f"can't be written: {error.strerror or error}", where=self.where) from None
        finally:
            with suppress(OSError):  # after the renaming there is none
                os.unlink(temporary)

    def _keep_mode(self, temporary: str) -> None:
        """Mode and owner of the file that is replaced; of a new one what the umask leaves."""
        if self.found:
            status = os.stat(self.path)
            if hasattr(os, "chown"):
                with suppress(OSError):
                    os.chown(temporary, status.st_uid, status.st_gid)
            os.chmod(temporary, status.st_mode & 0o7777)
            return
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)

    def _check(self, section: str, name: str, row: Mapping[str, Any], new: CatalogFile) -> None:
        """The new text must say what the old one did, and the row."""
        rows = self.tables.get(section, {})
        expected = {**self.tables, section: {**rows, name: row}}
        try:
            same = parse(new) == expected
        except CatalogError:
            same = False
        if not same:
            raise CatalogError(
                f"is written in a form to which kvplan can't add [{section}.{shorten(name)}]", where=self.where,
                help=_BY_HAND,
            )  # fmt: skip


@contextmanager
def opened(path: str, *, make_folder: bool) -> Iterator[OpenCatalog]:
    """The file of this path, which need not exist, locked against other imports for as long as the block runs."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder) and not make_folder:
        raise InputError(f"there is no folder {shorten(folder, 200)}", where=shorten(path, 200))
    missing = _missing_folders(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(f"can't be made: {error.strerror}", where=shorten(folder, 200)) from None
    try:
        with _locked(folder, shorten(path, 200)):
            yield OpenCatalog(path)
    finally:
        for made in missing:  # those that are still empty
            with suppress(OSError):
                os.rmdir(made)


def _missing_folders(folder: str) -> list[str]:
    """The folders on the way there that have to be made, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


@contextmanager
def _locked(folder: str, where: str) -> Iterator[None]:
    """A lock on the folder, which leaves nothing behind. Systems without one rely on the check before the writing."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InputError("another kvplan is writing to this folder", where=where) from None
                time.sleep(0.05)
            except OSError:  # a network folder without locks
                break
            else:
                break
        yield
    finally:
        os.close(handle)
