"""What an engine's command tells kvplan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node


class EngineCommand(Protocol):
    """How one engine is started. Adding one is adding a file to this folder."""

    engine: str
    """As ``--engine`` names it."""
    words: re.Pattern[str]
    """The engine's name where a shell text runs it, up to where its arguments begin; no named or numbered groups."""
    traces: tuple[bytes, ...]
    """Texts of which every file that starts this engine has one: folders are searched for them."""

    def is_started_by(self, image: str) -> bool:
        """Whether a container of this image starts the engine when it is given arguments alone."""
        ...

    def version_of(self, image: str) -> str | None:
        """The version that an image's tag names, or None."""
        ...

    def flags_from(self, words: Sequence[str]) -> int | None:
        """Where the flags begin in an argument list; None where these words do not start the engine."""
        ...

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        """The settings of the words behind ``entry``, the engine's name as it was written."""
        ...

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        """Settings that the engine reads from environment variables; a flag overrides them."""
        ...

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        """What settings that hold a document of their own (JSON) say in turn; given settings override it."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """An engine whose command line names a file with more settings."""

    file_wins: bool
    """The file's settings override those of the command line."""

    def of_file(self, root: Node, source: Source) -> Arguments:
        """The settings of the file's map."""
        ...


@runtime_checkable
class Settles(Protocol):
    """An engine some of whose settings mean something else beside others."""

    def settled(self, settings: dict[str, Setting]) -> dict[str, Setting]:
        """All settings that were given, as they hold together; the setting ``engine`` names the version."""
        ...
