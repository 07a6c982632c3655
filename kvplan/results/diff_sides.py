"""The two sides of a comparison: a git revision, or a folder, each as a folder whose paths begin at the same place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from kvplan.errors import InputError
from kvplan.results.places import Root
from kvplan.results.revisions import Repository, commit_of, repository_of, write_tree
from kvplan.units import shorten


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two."""

    name: str
    """As it was typed."""
    commit: str | None
    """The full id of a revision; None for a folder."""
    root: Root
    """Where the paths of both sides begin."""
    paths: tuple[str, ...]
    """What to check, as far as this side has it."""

    def place(self, where: str) -> str:
        """``path:line`` from the root, the same on both sides."""
        return self.root.place(where)

    def text(self, message: str) -> str:
        """A message without the folder that a revision was written to."""
        top = self.root.folder
        return message.replace(top.rstrip(os.sep) + os.sep, "") if top and self.commit else message


@contextmanager
def two_sides(names: tuple[str, str], paths: Sequence[str]) -> Iterator[tuple[Side, Side]]:
    """Both sides, for as long as they are needed. InputError for a name that is neither, and a path of neither."""
    folders = [_folder_of(name) for name in names]
    repository = None if all(folders) else repository_of(os.getcwd())
    with TemporaryDirectory(prefix="kvplan-diff-") as room:
        sides = []
        for number, (name, folder) in enumerate(zip(names, folders, strict=True)):
            other = folders[1 - number]
            if folder is not None:
                sides.append(_of_folder(name, folder, paths, repository))
            elif repository is not None:
                made = os.path.join(os.path.realpath(room), "ab"[number])
                os.mkdir(made)
                sides.append(_of_revision(name, paths, repository, made, other))
        for path in paths:
            if not any(_has(side, path) for side in sides):
                raise InputError("no such file or folder on either side", where=shorten(path, 200))
        yield sides[0], sides[1]


def _folder_of(name: str) -> str | None:
    """The folder that a name means; None for a revision. What may be both has to be said more clearly."""
    try:
        if not os.path.isdir(name):
            return None
    except ValueError:
        return None
    said = name in (".", "..") or "/" in name or os.sep in name
    if not said and commit_of(os.getcwd(), name) is not None:
        advice = f"./{name} is the folder, refs/heads/{name} the branch"
        raise InputError("is a folder and a revision", where=shorten(name, 200), help=advice)
    return os.path.realpath(name)


def _of_folder(name: str, folder: str, paths: Sequence[str], repository: Repository | None) -> Side:
    """A folder as it is now. Inside the repository of the other side its paths begin at that one's root."""
    top = folder
    if repository is not None and _is_inside(folder, repository.top):
        top = os.path.realpath(repository.top)
    there = [os.path.normpath(os.path.join(folder, path)) for path in paths]
    return Side(name, None, Root(top), tuple(path for path in there if os.path.lexists(path)))


def _of_revision(name: str, paths: Sequence[str], repository: Repository, made: str, other: str | None) -> Side:
    """A revision, written into ``made``. Beside a folder that is no part of the repository it begins where we are."""
    commit = commit_of(repository.top, name)
    if commit is None:
        advice = "a branch, a tag or a commit; a CI clone may need its history (fetch-depth: 0)"
        raise InputError(f"no revision and no folder is named {shorten(name)!r}", help=advice)
    begin = repository.inside.rstrip("/")
    if other is not None and _is_inside(other, repository.top):
        begin = os.path.relpath(other, os.path.realpath(repository.top)).replace(os.sep, "/").removeprefix(".")
    wanted = [_in_repository(path, begin, repository) for path in paths]
    write_tree(repository, commit, wanted, made)
    top = made if other is None or _is_inside(other, repository.top) else os.path.join(made, *begin.split("/"))
    there = [os.path.join(made, *path.split("/")) if path else made for path in wanted]
    return Side(name, commit, Root(top), tuple(path for path in there if os.path.lexists(path)))


def _in_repository(path: str, begin: str, repository: Repository) -> str:
    """A path as the repository has it, with slashes: ``""`` for all of it."""
    if os.path.isabs(path):
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(repository.top))
    else:
        inside = os.path.normpath(os.path.join(begin, path))
    inside = inside.replace(os.sep, "/")
    if inside == ".." or inside.startswith("../"):
        raise InputError("lies outside of the repository", where=shorten(path, 200))
    return "" if inside == "." else inside


def _has(side: Side, path: str) -> bool:
    tail = os.path.normpath(path)
    return tail == "." or any(one.endswith(os.sep + tail) or one == tail for one in side.paths)


def _is_inside(folder: str, top: str) -> bool:
    top = os.path.realpath(top)
    return folder == top or folder.startswith(top.rstrip(os.sep) + os.sep)
