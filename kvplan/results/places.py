"""Paths as the repository names them, and CI systems too: from its root, with slashes, the same on every machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

STDIN = "stdin"
"""What standard input is called where a path is needed."""


@dataclass(frozen=True, slots=True)
class Root:
    """Where paths begin: ``folder`` where it is given, else the root of the repository that a file is in.

    The root is the nearest folder upwards that has a ``.git``. Outside of any repository paths begin in the current
    folder, and what is not below it keeps its full path.
    """

    folder: str | None = None
    _roots: dict[str, str | None] = field(default_factory=dict, compare=False)

    def path(self, shown: str) -> str:
        """A path as it was given -> as the repository names it. Nothing is read but the existence of ``.git``."""
        if shown == "-":
            return STDIN
        whole = os.path.abspath(shown)
        top = self.folder or self._root_of(os.path.dirname(whole)) or os.getcwd()
        inside = os.path.relpath(whole, top) if _is_below(whole, os.path.abspath(top)) else whole
        return inside.replace(os.sep, "/")

    def split(self, where: str) -> tuple[str, int]:
        """``path:line`` -> (path as the repository names it, line)."""
        path, _, line = where.rpartition(":")
        return self.path(path), max(int(line), 1)

    def place(self, where: str) -> str:
        """``path:line`` with the path as the repository names it."""
        path, line = self.split(where)
        return f"{path}:{line}"

    def _root_of(self, folder: str) -> str | None:
        if folder not in self._roots:
            parent = os.path.dirname(folder)
            here = os.path.lexists(os.path.join(folder, ".git"))
            self._roots[folder] = folder if here else None if parent == folder else self._root_of(parent)
        return self._roots[folder]


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
