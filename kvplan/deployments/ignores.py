"""What a repository has decided to live with: a rule that is ignored in some files, with the reason, for some time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from kvplan.deployments.found import Place


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
        return _glob(self.path_glob).match(path) is not None


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay inside a folder, ``**`` does not; without a slash it is the file's name in any folder.

    A pattern that names a folder covers everything in it, as in ``.gitignore``.
    """
    text = pattern.strip().removeprefix("./").removeprefix("/").rstrip("/") or "**"
    if "/" not in text and text != "**":
        text = f"**/{text}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    known = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts) + r"(?:/.*)?\Z", re.DOTALL)
