"""What a file form tells kvplan."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kvplan.deployments.found import FoundDeployment, Place


@dataclass(frozen=True, slots=True)
class Source:
    """One file, read and decoded."""

    path: str
    """As shown to people; ``-`` is standard input."""
    text: str
    folder: str = ""
    """Of the file, for paths that it names; empty is the current one."""
    opener: Callable[[str], Source | Unreadable | None] | None = field(default=None, compare=False, repr=False)
    """Reads another file of the same tree; None where there is no tree, as on standard input."""
    lister: Callable[[], tuple[str, ...]] | None = field(default=None, compare=False, repr=False)
    """The YAML files of the same tree, for objects that a manifest names and another file has."""
    memo: dict[str, object] | None = field(default=None, compare=False, repr=False)
    """What readings of the same tree keep for each other."""
    folder_lister: Callable[[str], list[str]] | None = field(default=None, compare=False, repr=False)
    """The names in a folder of the same tree."""

    @property
    def suffix(self) -> str:
        """``.yaml`` in lower case; empty for standard input and names without one."""
        name = self.path.rsplit("/", 1)[-1]
        return "." + name.rsplit(".", 1)[1].lower() if "." in name else ""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rsplit("/", 1)[-1]

    def beside(self, path: str) -> Source | Unreadable | None:
        """Another file, named as this one names it: relative to its folder.

        None where there is no such file, or where it lies outside the tree that is checked: nothing else is opened.
        """
        if self.opener is None or not path or path.startswith(("/", "~")):
            return None
        return self.opener(posixpath.normpath(posixpath.join(self.folder.replace("\\", "/") or ".", path)))

    def names_in(self, folder: str) -> list[str]:
        """The names in a folder that this file names, in order; none where it is not in the tree."""
        if self.folder_lister is None or not folder or folder.startswith(("/", "~")):
            return []
        return self.folder_lister(posixpath.normpath(posixpath.join(self.folder.replace("\\", "/") or ".", folder)))

    @property
    def stem(self) -> str:
        """The file's name without its folder and ending."""
        name = self.path.rsplit("/", 1)[-1]
        return name.rsplit(".", 1)[0] or name

    @property
    def title(self) -> str:
        """What a deployment that has no name of its own is called after its file."""
        return self.stem if self.path != "-" else "stdin"

    def at(self, line: int) -> Place:
        """One line of it, counted from 1."""
        return Place(self.path, line)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a part of one, that cannot be read, and why."""

    place: Place
    message: str
    remedy: str | None = None
    level: str = "unknown"
    """``fail`` for the unread rest of a file that was read up to a cap: it may hide anything."""


class Reading(NamedTuple):
    """What one file holds."""

    deployments: list[FoundDeployment]
    unreadable: list[Unreadable] = []
    claims: tuple[str, ...] = ()
    """Paths of other files whose deployments these are a fuller reading of, such as the bases of an overlay: by
    themselves they are not reported again."""


class Form(Protocol):
    """One form of deployment file. Adding one is adding a file to ``forms/``."""

    name: str
    names: tuple[str, ...]
    """Shell patterns of the file names for which a folder is searched, in lower case."""
    traces: tuple[bytes, ...]
    """Texts of which every file of this form has one, beside those of the engines' commands."""
    order: int
    """Forms are asked in this order, the most particular first."""

    def recognises(self, source: Source) -> bool:
        """Whether a file is of this form, judged by its text alone: cheap, and never an exception."""
        ...

    def read(self, source: Source) -> Reading:
        """The deployments of a file that it recognises. Nothing in the file is ever executed."""
        ...
