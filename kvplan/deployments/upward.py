"""Files that hold for a whole repository: looked for in the folder of a path and in those above it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kvplan.deployments.source_files import Tree
from kvplan.errors import InputError
from kvplan.units import shorten

LOCK_NAME = "kvplan.lock.toml"
"""What ``kvplan lock`` writes: a catalog of the models that the deployment files name and no other catalog has."""


class Way(NamedTuple):
    """From where a search begins, upward to where it ends."""

    folder: str
    last: str
    """The repository's root; outside of one the current folder, or the path's own."""
    relative: bool
    """Whether what is found is shown from the current folder on."""

    def shown(self, path: str) -> str:
        """A path that was found as people see it."""
        return os.path.relpath(path) if self.relative else path


def way_up(path: str) -> Way:
    """The folders that speak for a path; standard input is in the current one."""
    start = os.path.realpath("." if path == "-" else path)
    folder = start if os.path.isdir(start) else os.path.dirname(start)
    here = os.path.realpath(".")
    inside = folder == here or folder.startswith(here.rstrip(os.sep) + os.sep)
    root = Tree(folder).root
    last = here if root == folder and inside and not os.path.exists(os.path.join(folder, ".git")) else root
    return Way(folder, last, inside)


def nearest(
    path: str,
    names: Iterable[str],
    is_meant: Callable[[str], bool] = os.path.isfile,
    regular: tuple[str, ...] = (),
) -> str | None:
    """The first file of one of these names on the way up. InputError where a ``regular`` one is a pipe or a folder."""
    way, names = way_up(path), tuple(names)
    folder = way.folder
    while True:
        for name in names:
            file = os.path.join(folder, name)
            if name in regular and os.path.lexists(file) and not os.path.isfile(file):
                raise InputError("is not a regular file", where=shorten(way.shown(file), 200))
            if os.path.isfile(file) and is_meant(file):
                return way.shown(file)
        above = os.path.dirname(folder)
        if folder == way.last or above == folder:
            return None
        folder = above


def lock_files(paths: Iterable[str]) -> tuple[str, ...]:
    """The lock files that speak for these paths: the nearest to each, each once."""
    found = (nearest(path, (LOCK_NAME,)) for path in paths)
    return tuple(dict.fromkeys(file for file in found if file is not None))
