"""What a deployment file says, before anything is looked up: settings by kvplan's names, each with its line.

A form never guesses: what it cannot read literally becomes an ``Unresolved``, what cannot be right a ``Complaint``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Value = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, as people click on it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``name`` is the field of ``Words`` that it fills, or one of the names that only ``check`` knows."""

    name: str
    value: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A setting that the file does not say literally."""

    name: str
    text: str
    place: Place
    reason: str
    stops: bool = True
    """The verdict could be another one with it, so that there is none without it."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A setting that cannot be right: a key that nobody reads, a value of the wrong type."""

    message: str
    place: Place
    remedy: str | None = None
    level: str = "fail"
    stops: bool = False


@dataclass(frozen=True, slots=True)
class FoundDeployment:
    """One deployment as its file has it."""

    name: str
    form: str
    place: Place
    settings: dict[str, Setting]
    unresolved: tuple[Unresolved, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    engine: str = "vllm"
    """The engine that this form starts; the setting ``engine`` names another, or its version."""
    notes: dict[str, str] = field(default_factory=dict)
    """Facts that are no settings: ``image`` as written; ``tag_floats``, the tag that names another version tomorrow."""
    image_place: Place | None = None
    """Where the container's image is named."""
    flags: dict[str, Place] = field(default_factory=dict)
    """Flags of the engine that the file writes, long and without dashes, those that fill no setting too."""
    variables: dict[str, Place] = field(default_factory=dict)
    """Environment variables that the engine is started with; their values may be secrets."""
    files: tuple[str, ...] = ()
    """Paths of other files that settings were read from, such as that of ``--config``: they are no deployments."""
    annotations: dict[str, Setting] = field(default_factory=dict)
    """Kubernetes annotations that speak to kvplan: ``kvplan.dev/ignore.KV201``."""

    def value(self, name: str) -> Value | None:
        """A setting's value, or None where the file does not say."""
        setting = self.settings.get(name)
        return None if setting is None else setting.value

    def where(self, *names: str) -> Place:
        """The line of the first of these settings that the file has; the deployment's own line for none of them."""
        return next((self.settings[name].place for name in names if name in self.settings), self.place)
