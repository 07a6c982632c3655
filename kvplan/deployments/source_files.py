"""One file -> a Source. Reading is bounded, and what can't be read is said instead of raised."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from itertools import islice

from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.units import MIB, shorten

LARGEST_FILE_BYTES = 4 * MIB
MOST_LISTED_FILES = 5000
SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages"}
MOST_NAMES = 1000
"""Names of a folder that are looked at."""


class Tree:
    """The files that may be read together: those of the repository, or else of the folder, that a path is in.

    A file names others, such as the bases of an overlay or a file of variables. They are opened only inside the tree,
    symbolic links followed, so that no file makes kvplan read what the user did not hand to it.
    """

    def __init__(self, path: str, top: str | None = None) -> None:
        self.root = _root_of(os.path.realpath(path), os.path.realpath(top or path))
        self.memo: dict[str, object] = {}
        self._absolute = os.path.isabs(path)
        self._known: dict[str, Source | Unreadable | None] = {}
        self._files: tuple[str, ...] | None = None

    def open(self, path: str) -> Source | Unreadable | None:
        """A file by its path from the current folder; None for one that there is not, or that is outside."""
        if path not in self._known:
            real = os.path.realpath(path)
            inside = real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)
            self._known[path] = read_source(path, tree=self) if inside and os.path.isfile(real) else None
        return self._known[path]

    def yaml_files(self) -> tuple[str, ...]:
        """YAML files of the tree, in the order of their names, up to a limit."""
        if self._files is None:
            self._files = tuple(islice(self._walk(), MOST_LISTED_FILES))
        return self._files

    def names(self, path: str) -> list[str]:
        """What a folder of the tree holds, in order; nothing for any other."""
        real = os.path.realpath(path)
        if not real.startswith(self.root.rstrip(os.sep) + os.sep) or not os.path.isdir(real):
            return []
        return sorted(os.listdir(real))[:MOST_NAMES]

    def _walk(self) -> Iterator[str]:
        for top, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
            for name in sorted(names):
                if name.lower().endswith((".yaml", ".yml")):
                    path = os.path.join(top, name)
                    yield path if self._absolute else os.path.relpath(path)


def _root_of(real: str, top: str) -> str:
    """The nearest folder up that is a repository; without one the current folder, or else that of ``top``."""
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    own = top if os.path.isdir(top) else os.path.dirname(top)
    here = os.path.realpath(os.curdir)
    if here != os.path.dirname(here) and own.startswith(here + os.sep):
        own = here
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
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    seen = data.replace(b"\0", b"") if wide else data
    if traces is not None and not any(word in seen for word in traces):
        return None
    if len(data) > LARGEST_FILE_BYTES:
        return Unreadable(where, "is larger than 4 MiB, so it is no deployment file")
    if wide:
        return Unreadable(where, "is UTF-16 text, not UTF-8", "save it as UTF-8")
    if b"\0" in data:
        return Unreadable(where, "is not a text file")
    try:
        folder = "" if path == "-" else os.path.dirname(path)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        if tree is None:
            return Source(shown, text, folder)
        return Source(shown, text, folder, tree.open, tree.yaml_files, tree.memo, tree.names)
    except UnicodeDecodeError as error:
        return Unreadable(Place(shown, data.count(b"\n", 0, error.start) + 1), "is not UTF-8 text")


def _bytes_of(path: str) -> bytes:
    """At most one byte more than the limit; only regular files, for a pipe or a device may never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file (pipe it to kvplan check - instead)")
        return file.read(LARGEST_FILE_BYTES + 1)
