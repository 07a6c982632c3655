"""What a file form tells kvplan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kvplan.deployments.found import FoundDeployment, Place


@dataclass(frozen=True, slots=True)
class Source:
    """One file, read and decoded."""

    path: str
    """As shown to people; ``-`` is standard input."""
    text: str
    folder: str = ""
    """Of the file, for paths that it names; empty is the current one."""

    @property
    def suffix(self) -> str:
        """``.yaml`` in lower case; empty for standard input and names without one."""
        name = self.path.rsplit("/", 1)[-1]
        return "." + name.rsplit(".", 1)[1].lower() if "." in name else ""

    @property
    def stem(self) -> str:
        """The file's name without its folder and ending."""
        name = self.path.rsplit("/", 1)[-1]
        return name.rsplit(".", 1)[0] or name

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


class Form(Protocol):
    """One form of deployment file. Adding one is adding a file to ``forms/``."""

    name: str
    order: int
    """Forms are asked in this order, the most particular first."""

    def recognises(self, source: Source) -> bool:
        """Whether a file is of this form, judged by its text alone: cheap, and never an exception."""
        ...

    def read(self, source: Source) -> tuple[list[FoundDeployment], list[Unreadable]]:
        """The deployments of a file that it recognises. Nothing in the file is ever executed."""
        ...
