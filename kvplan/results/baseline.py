"""The findings that a repository starts with, kept in a file: they don't count until they get worse.

``kvplan.baseline/1``: one record a finding, with how far it is over its limit. No line numbers, sorted, so that the
file changes only with what is found.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from kvplan.errors import InputError
from kvplan.results.fingerprints import Identity, margin_of
from kvplan.rules.interface import LEVELS, Finding
from kvplan.units import MIB, shorten

SCHEMA = "kvplan.baseline/1"
BASELINE = "baseline"
WORSE_BY = 0.002
"""How much a margin may grow, relatively, before a finding counts again: rounding, not a change."""
_LARGEST_BYTES = 16 * MIB
_KINDS = "a file that --update-baseline wrote, or an output of kvplan check --format json"


@dataclass(frozen=True, slots=True)
class Known:
    """One finding of a baseline."""

    level: str
    margin: float | None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is known: by fingerprint; or, from an earlier JSON output, by rule, deployment and message."""

    by_fingerprint: dict[str, Known]
    by_message: frozenset[tuple[str, str | None, str]] = frozenset()

    def apply(self, findings: Sequence[Finding], identities: Sequence[Identity]) -> list[Finding]:
        """The findings with those suppressed that are known and no worse than they were."""
        return [
            replace(finding, suppressed=BASELINE)
            if finding.suppressed is None and self._holds(finding, identity)
            else finding
            for finding, identity in zip(findings, identities, strict=True)
        ]

    def gone(self, identities: Sequence[Identity], paths: AbstractSet[str]) -> int:
        """How many of its records about these files nothing matches any more; of other files nothing is known."""
        left = self.by_fingerprint.keys() - {identity.fingerprint for identity in identities}
        return sum(self.by_fingerprint[name].path in paths for name in left)

    def _holds(self, finding: Finding, identity: Identity) -> bool:
        if (finding.rule, finding.deployment, finding.message) in self.by_message:
            return True
        known = self.by_fingerprint.get(identity.fingerprint)
        return known is not None and not is_worse(known, finding)


def is_worse(known: Known, finding: Finding) -> bool:
    """Whether a finding has a harder level than it had, or is further over its limit."""
    if known.level in LEVELS and LEVELS.index(finding.level) < LEVELS.index(known.level):
        return True
    margin = margin_of(finding.figures)
    return margin is not None and known.margin is not None and margin > known.margin * (1.0 + WORSE_BY)


def read_baseline(path: str) -> Baseline:
    """The baseline of a file. InputError for a file that is none."""
    where = shorten(path, 200)
    document = _document(path, where)
    listed = document.get("findings") if isinstance(document, dict) else None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(listed, list) or schema not in (SCHEMA, "kvplan.check/1"):
        raise InputError("is no baseline", where=where, help=f"give {_KINDS}")
    items = [item for item in listed if isinstance(item, dict)]
    if schema == SCHEMA:
        return Baseline({str(item.get("fingerprint")): _known(item) for item in items})
    return Baseline({}, frozenset(_described(item) for item in items))


def write_baseline(path: str, findings: Sequence[Finding], identities: Sequence[Identity]) -> None:
    """Write the findings that count, or would, but for an older baseline. Infos never count."""
    records = [
        {
            "fingerprint": identity.fingerprint,
            "rule": identity.rule,
            "path": identity.path,
            "deployment": identity.deployment,
            "settings": list(identity.settings),
            "level": finding.level,
            "margin": margin_of(finding.figures),
        }
        for finding, identity in zip(findings, identities, strict=True)
        if finding.level != "info" and finding.suppressed in (None, BASELINE)
    ]
    records.sort(key=lambda item: (item["path"], item["deployment"] or "", item["rule"], item["fingerprint"]))
    text = json.dumps({"schema": SCHEMA, "findings": records}, indent=2, ensure_ascii=True) + "\n"
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=shorten(path, 200)) from None


def _document(path: str, where: str) -> Any:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError("is not a regular file", where=where)
        with open(path, "rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "error"
        advice = "--update-baseline writes it" if isinstance(error, FileNotFoundError) else None
        raise InputError(f"cannot be read: {reason}", where=where, help=advice) from None
    if len(data) > _LARGEST_BYTES:
        raise InputError("is larger than 16 MiB, too large for a baseline", where=where)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _known(item: dict[str, Any]) -> Known:
    margin = item.get("margin")
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool)
    return Known(str(item.get("level")), margin if is_number else None, str(item.get("path")))


def _described(item: dict[str, Any]) -> tuple[str, str | None, str]:
    name = item.get("deployment")
    return str(item.get("rule")), None if name is None else str(name), str(item.get("message"))
