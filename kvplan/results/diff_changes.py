"""What became of one deployment: figures, settings and findings, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kvplan.results.baseline import Known, is_worse
from kvplan.results.check import CheckedDeployment
from kvplan.results.check_json import named_engine, named_host, named_model, settings_json
from kvplan.results.diff_sides import Side
from kvplan.results.fingerprints import Identity, margin_of
from kvplan.rules.host_use import host_parts
from kvplan.rules.interface import Finding

FIGURES = ("kv_pool_tokens", "kv_pool_bytes", "weight_bytes", "pinned_host_bytes", "gpus", "users_max", "itl_s")
"""In the order in which a reviewer should read them. Bytes are those of one GPU, host bytes those of the host."""
_NOT_PINNED = ("engine", "others")


class Changed(NamedTuple):
    """Something by name, before and after; None where it is not known, or not there."""

    name: str
    old: Any
    new: Any
    old_where: str | None = None
    new_where: str | None = None


@dataclass(frozen=True)  # without slots, for what is worked out once
class DeploymentChange:
    """One deployment of either side, or of both."""

    base: CheckedDeployment | None
    head: CheckedDeployment | None
    sides: tuple[Side, Side]

    @cached_property
    def status(self) -> str:
        """``added``, ``removed``, ``changed`` or ``unchanged``."""
        if self.base is None:
            return "added"
        if self.head is None:
            return "removed"
        return "changed" if self.facts or self.settings or self.has_moved else "unchanged"

    @property
    def shown(self) -> tuple[CheckedDeployment, Side]:
        """The deployment as it is after, else as it was."""
        if self.head is not None:
            return self.head, self.sides[1]
        assert self.base is not None
        return self.base, self.sides[0]

    @property
    def has_moved(self) -> bool:
        """Whether its file or its name is another one."""
        return bool(self.base and self.head) and self._key(0) != self._key(1)

    def places(self) -> tuple[str | None, str | None]:
        """``path:line`` before and after."""
        pair = zip((self.base, self.head), self.sides, strict=True)
        old, new = (None if item is None else side.place(str(item.found.place)) for item, side in pair)
        return old, new

    @cached_property
    def facts(self) -> list[Changed]:
        """Model, host, engine, outcome and figures that are others than they were."""
        old, new = (facts_of(item) if item is not None else {} for item in (self.base, self.head))
        if not old or not new:
            return []
        return [Changed(name, old[name], new[name]) for name in new if _differ(old[name], new[name])]

    @cached_property
    def settings(self) -> list[Changed]:
        """Settings with another value; those that appear or disappear too, and defaults that another version has."""
        if self.base is None or self.head is None:
            return []
        old, new = settings_json(self.base), settings_json(self.head)
        return [
            Changed(name, before.get("value"), after.get("value"), self._where(before, 0), self._where(after, 1))
            for name in [*new, *(name for name in old if name not in new)]
            for before, after in [(old.get(name, {}), new.get(name, {}))]
            if before.get("value") != after.get("value")
        ]

    def _where(self, setting: dict[str, Any], side: int) -> str | None:
        """The line that has it, or whose default it is."""
        if setting.get("where"):
            return self.sides[side].place(setting["where"])
        return f"default of {setting['default_of']}" if setting.get("default_of") else None

    def _key(self, side: int) -> tuple[str, str] | None:
        item = (self.base, self.head)[side]
        return None if item is None else (self.sides[side].root.path(item.found.place.path), item.found.name)


def facts_of(item: CheckedDeployment) -> dict[str, Any]:
    """Model, host, engine, outcome, and every figure of ``FIGURES``; None for what is not known."""
    engine, version = named_engine(item)
    facts: dict[str, Any] = {
        "model": named_model(item),
        "host": named_host(item),
        "engine": f"{engine} {version}" if version else engine,
        "outcome": item.outcome,
    }
    return {**facts, **_figures(item)}


def _figures(item: CheckedDeployment) -> dict[str, float | None]:
    found: dict[str, float | None] = dict.fromkeys(FIGURES)
    judged = item.context.judged
    if judged is None:
        return found
    parts = [part.told.best for part in host_parts(item.context) if part.name not in _NOT_PINNED]
    found["pinned_host_bytes"] = round(sum(parts))
    found["gpus"] = judged.deployment.layout.gpus
    most, itl = judged.configured.users_max, judged.configured.itl_s
    found["users_max"] = None if most is None else int(most.best)
    found["itl_s"] = None if itl is None else itl.best
    if judged.share is not None:
        found["kv_pool_tokens"] = judged.share.pool_tokens()
        found["kv_pool_bytes"] = round(max(judged.share.pool.best, 0.0))
        found["weight_bytes"] = round(judged.share.weights.best)
    return found


def _differ(old: Any, new: Any) -> bool:
    """Whether two facts differ by more than a rounding."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(new - old) > 1e-3 * max(abs(old), abs(new))
    return bool(old != new)


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One finding: ``new``, ``worse``, ``fixed``, ``suppressed`` or ``unchanged``."""

    status: str
    finding: Finding
    """As it is after; as it was where it is fixed."""
    side: Side


def finding_changes(
    before: Sequence[tuple[Identity, Finding]], after: Sequence[tuple[Identity, Finding]], sides: tuple[Side, Side]
) -> list[FindingChange]:
    """What became of each finding. Identities of a deployment that was renamed have its new name on both sides."""
    old = dict(before)
    new = dict(after)
    changes = [FindingChange(_status(old.get(key), finding), finding, sides[1]) for key, finding in new.items()]
    gone = [finding for key, finding in old.items() if key not in new and finding.suppressed is None]
    return [item for item in changes if item.status] + [FindingChange("fixed", item, sides[0]) for item in gone]


def _status(old: Finding | None, new: Finding) -> str:
    """Empty for a finding that is, and was, suppressed or was never there."""
    was_open = old is not None and old.suppressed is None
    if new.suppressed is not None:
        return "suppressed" if was_open else ""
    if old is None or not was_open:
        return "new"
    return "worse" if is_worse(Known(old.level, margin_of(old.figures)), new) else "unchanged"
