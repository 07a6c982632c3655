"""A finding that a project has decided to live with, and why."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from kvplan.deployments.found import Place


@dataclass(frozen=True, slots=True)
class Ignore:
    """One ignored rule for some files."""

    rule: str
    reason: str
    path_glob: str
    """Which files: ``**`` any folders, ``*`` within one name."""
    until: datetime.date | None
    """The last day on which it holds; None: for good."""
    place: Place
    """Where it is written."""
