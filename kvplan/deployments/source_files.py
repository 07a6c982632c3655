"""One file -> a Source. Reading is bounded, and what can't be read is said instead of raised."""

from __future__ import annotations

import os
import stat
import sys

from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.units import MIB, shorten

LARGEST_FILE_BYTES = 4 * MIB
MOST_NAMES = 1000
"""Names of a folder that are looked at."""


class Tree:
    """The files that may be read together: those of the repository, or else of the folder, that a path is in.

    A file names others, such as the bases of an overlay or a file of variables. They are opened only inside the tree,
    symbolic links followed, so that no file makes kvplan read what the user did not hand to it.
    """

    def __init__(self, path: str) -> None:
        self.root = _root_of(os.path.realpath(path))
        self._known: dict[str, Source | Unreadable | None] = {}

    def open(self, path: str) -> Source | Unreadable | None:
        """A file by its path from the current folder; None for one that there is not, or that is outside."""
        if path not in self._known:
            real = os.path.realpath(path)
            inside = real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)
            self._known[path] = read_source(path, tree=self) if inside and os.path.isfile(real) else None
        return self._known[path]

    def names(self, path: str) -> list[str]:
        """What a folder of the tree holds, in order; nothing for any other."""
        real = os.path.realpath(path)
        if not real.startswith(self.root.rstrip(os.sep) + os.sep) or not os.path.isdir(real):
            return []
        return sorted(os.listdir(real))[:MOST_NAMES]


def _root_of(real: str) -> str:
    """The nearest folder up that is a repository; without one the folder itself, or that of the file."""
    own = real if os.path.isdir(real) else os.path.dirname(real)
    folder = own
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return own
        folder = above


def read_source(
    path: str, *, traces: tuple[bytes, ...] | None = None, tree: Tree | None = None
) -> Source | Unreadable | None:
    """One file as text, or why not. ``-`` is standard input.

    None for a file without any of the ``traces``, where there are some: a folder happens to hold it.
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
    if traces is not None and not any(word in data for word in traces):
        return None
    if len(data) > LARGEST_FILE_BYTES:
        return Unreadable(where, "is larger than 4 MiB, so it is no deployment file")
    if b"\0" in data:
        return Unreadable(where, "is not a text file")
    try:
        folder = "" if path == "-" else os.path.dirname(path)
        opener, lister = (tree.open, tree.names) if tree is not None else (None, None)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        return Source(shown, text, folder, opener, folder_lister=lister)
    except UnicodeDecodeError as error:
        return Unreadable(Place(shown, data.count(b"\n", 0, error.start) + 1), "is not UTF-8 text")


def _bytes_of(path: str) -> bytes:
    """At most one byte more than the limit; only regular files, for a pipe or a device may never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file (pipe it to kvplan check - instead)")
        return file.read(LARGEST_FILE_BYTES + 1)
