"""``kvplan diff``: what a change does to the deployments of a repository, as its reviewer wants to know it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kvplan.deployments.ignores import Ignore
from kvplan.results.check import CheckedDeployment, CheckResult, Gate, check
from kvplan.results.check_json import finding_json, named_model
from kvplan.results.diff_changes import (
    FIGURES,
    Changed,
    DeploymentChange,
    FindingChange,
    facts_of,
    finding_changes,
)
from kvplan.results.diff_sides import Side, two_sides
from kvplan.results.fingerprints import Identity
from kvplan.results.json_shapes import Json
from kvplan.rules.interface import LEVELS, Finding

SCHEMA = "kvplan.diff/1"
STATUSES = ("added", "removed", "changed", "unchanged")
FINDING_STATUSES = ("new", "worse", "fixed", "suppressed", "unchanged")


@dataclass(frozen=True, slots=True)
class DiffResult:
    """The answer of one ``diff``."""

    sides: tuple[Side, Side]
    deployments: tuple[DeploymentChange, ...]
    findings: tuple[FindingChange, ...]
    gate: Gate

    @property
    def exit_code(self) -> int:
        """1 with a finding that is new, or worse, at the chosen level; 3 where neither side has a deployment."""
        if not self.deployments and not self.gate.allow_empty:
            return 3
        counted = (item for item in self.findings if item.status in ("new", "worse"))
        return 1 if any(self.gate.counts(item.finding.level) for item in counted) and not self.gate.exit_zero else 0

    def count(self, status: str) -> int:
        """Deployments of this status."""
        return sum(item.status == status for item in self.deployments)

    def found(self, *statuses: str) -> list[FindingChange]:
        """Findings of these statuses."""
        return [item for item in self.findings if item.status in statuses]

    def to_json(self) -> Json:
        """The envelope ``kvplan.diff/1``."""
        return {
            "schema": SCHEMA,
            "base": _side_json(self.sides[0]),
            "head": _side_json(self.sides[1]),
            "summary": {
                "deployments": {status: self.count(status) for status in STATUSES},
                "findings": {status: len(self.found(status)) for status in FINDING_STATUSES},
            },
            "deployments": [_deployment_json(item) for item in self.deployments],
            "findings": [_finding_json(item) for item in self.findings],
        }


def diff(
    names: tuple[str, str],
    paths: Sequence[str],
    *,
    host: str | None = None,
    catalog: tuple[str, ...] = (),
    ignores: Sequence[Ignore] = (),
    gate: Gate | None = None,
) -> DiffResult:
    """Compare what ``check`` says of two git revisions, or two folders. InputError for a side that is neither."""
    gate = gate or Gate()
    with two_sides(names, paths) as sides:
        base, head = (
            check(side.paths, host=host, catalog=catalog, ignores=ignores, gate=gate, root=side.root) for side in sides
        )
        pairs = [DeploymentChange(old, new, sides) for old, new in _pairs(base, head, sides)]
        renamed = {(id(pair.base), id(pair.head)): pair for pair in pairs if pair.has_moved}
        before = _identified(base, sides[0], _new_names(renamed.values()))
        after = _identified(head, sides[1], {})
    changes = finding_changes(before, after, sides)
    changes.sort(key=lambda item: (FINDING_STATUSES.index(item.status), LEVELS.index(item.finding.level)))
    return DiffResult(sides, tuple(pairs), tuple(changes), gate)


def _pairs(
    base: CheckResult, head: CheckResult, sides: tuple[Side, Side]
) -> list[tuple[CheckedDeployment | None, CheckedDeployment | None]]:
    """Deployments of both sides that are the same: by path and name; else by name and model, path and model, settings.

    In the order of the head, then those that are gone.
    """
    found: dict[int, CheckedDeployment] = {}
    taken: set[int] = set()
    for key in (_path_and_name, _name_and_model, _path_and_model, _form_and_settings):
        keyed: dict[Any, list[CheckedDeployment]] = {}
        for item in base.deployments:
            if id(item) not in taken:
                keyed.setdefault(key(item, sides[0]), []).append(item)
        wanted: dict[Any, list[CheckedDeployment]] = {}
        for item in head.deployments:
            if id(item) not in found:
                wanted.setdefault(key(item, sides[1]), []).append(item)
        for name, items in wanted.items():
            rivals = keyed.get(name, [])
            if key is not _path_and_name and (len(items) > 1 or len(rivals) > 1):
                continue  # more than one could be meant
            for old, new in zip(rivals, items, strict=False):
                found[id(new)] = old
                taken.add(id(old))
    pairs: list[tuple[CheckedDeployment | None, CheckedDeployment | None]] = []
    pairs += [(found.get(id(item)), item) for item in head.deployments]
    return pairs + [(item, None) for item in base.deployments if id(item) not in taken]


def _path_and_name(item: CheckedDeployment, side: Side) -> tuple[object, ...]:
    return side.root.path(item.found.place.path), item.found.name


def _name_and_model(item: CheckedDeployment, side: Side) -> tuple[object, ...]:
    return item.found.name, named_model(item)


def _path_and_model(item: CheckedDeployment, side: Side) -> tuple[object, ...]:
    return side.root.path(item.found.place.path), named_model(item)


def _form_and_settings(item: CheckedDeployment, side: Side) -> tuple[object, ...]:
    return item.found.form, *sorted((name, str(setting.value)) for name, setting in item.found.settings.items())


def _new_names(pairs: Iterable[DeploymentChange]) -> dict[tuple[object, ...], tuple[object, ...]]:
    """(path, name) before -> after, of what was moved or renamed."""
    return {
        _path_and_name(pair.base, pair.sides[0]): _path_and_name(pair.head, pair.sides[1])
        for pair in pairs
        if pair.base is not None and pair.head is not None
    }


def _identified(
    answer: CheckResult, side: Side, renamed: dict[tuple[object, ...], tuple[object, ...]]
) -> list[tuple[Identity, Finding]]:
    found = []
    for identity, finding in zip(answer.identities(), answer.findings, strict=True):
        moved = renamed.get((identity.path, identity.deployment))
        if moved is not None:
            identity = identity._replace(path=str(moved[0]), deployment=str(moved[1]))
        found.append((identity, finding))
    return found


def _side_json(side: Side) -> Json:
    return {"name": side.name, "commit": side.commit}


def _deployment_json(item: DeploymentChange) -> Json:
    shown, _ = item.shown
    old, new = item.places()
    facts = [facts_of(side) if side is not None else {} for side in (item.base, item.head)]
    return {
        "name": shown.found.name,
        "status": item.status,
        "old_name": item.base.found.name if item.base else None,
        "old_where": old,
        "where": new,
        **{name: _both(name, facts) for name in ("model", "host", "engine", "outcome")},
        "figures": {name: _both(name, facts) for name in FIGURES},
        "settings": [_setting_json(setting) for setting in item.settings],
    }


def _both(name: str, facts: list[dict[str, Any]]) -> Json:
    return {"old": facts[0].get(name), "new": facts[1].get(name)}


def _setting_json(item: Changed) -> Json:
    return item._asdict()


def _finding_json(item: FindingChange) -> Json:
    shown = finding_json(item.finding)
    where, message = item.side.place(item.finding.where), item.side.text(item.finding.message)
    remedy = item.side.text(item.finding.remedy) if item.finding.remedy else item.finding.remedy
    return {"status": item.status, **shown, "where": where, "message": message, "remedy": remedy}
