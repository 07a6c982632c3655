"""What a repository has decided to live with: a rule that is ignored in some files, with the reason, for some time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from kvplan.deployments.found import Place
from kvplan.deployments.path_globs import glob_matches


@dataclass(frozen=True, slots=True)
class Ignore:
    """One entry of a configuration file. ``place`` is where it stands, for what has to be said about it."""

    rule: str
    reason: str
    path_glob: str
    """Of files, from the root of the repository: ``deploy/**``, ``*.yaml`` (in any folder)."""
    until: date | None
    """The last day on which it holds; None for no end."""
    place: Place

    def covers(self, path: str) -> bool:
        """Whether a file, as the repository names it, is meant."""
        return glob_matches(self.path_glob.strip() or "**", path)
