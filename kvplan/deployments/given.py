"""What a container, a unit or a job is given of its host, as it is found."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvplan.deployments.found import Complaint, Place, Setting, Unresolved
from kvplan.units import shorten


@dataclass(slots=True)
class Given:
    """Surroundings as they are found."""

    settings: dict[str, Setting] = field(default_factory=dict)
    unresolved: list[Unresolved] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)

    def put(self, name: str, value: str | int | float | tuple[str, ...], place: Place) -> None:
        """Keep one; a later one of the same name holds."""
        self.settings[name] = Setting(name, value, place)

    def ask(self, name: str, text: str, place: Place, reason: str, *, stops: bool = True) -> None:
        """Something that the file leaves open."""
        self.unresolved.append(Unresolved(name, shorten(text), place, reason, stops))
