"""What makes a finding the same one after its file was edited, and how far it is over its limit.

A fingerprint is made of the rule, the path from the repository's root, the deployment and the settings to blame; of
several findings that share all of it the second one counts as number two. Lines and wording are no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kvplan.deployments.found import FoundDeployment
from kvplan.results.places import Root
from kvplan.rules.interface import Finding

_NEEDS = ("needed", "used", "asked")
_LIMITS = ("limit", "pool", "budget", "free")
_PAIRS = (("itl_s", "objective_s"), ("ttft_s", "objective_s"), ("context_tokens", "max_context_tokens"),
          ("context_tokens", "max_model_len"))  # fmt: skip


class Identity(NamedTuple):
    """The parts of a fingerprint."""

    rule: str
    path: str
    deployment: str | None
    settings: tuple[str, ...]
    number: int = 1
    """Of the findings that are alike otherwise."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits."""
        from hashlib import sha256

        parts = (self.rule, self.path, self.deployment or "", *self.settings, str(self.number))
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def identities(findings: Sequence[Finding], deployments: Iterable[FoundDeployment], root: Root) -> list[Identity]:
    """Of each of these findings; ``deployments`` tell which settings stand on a line."""
    on_line: dict[tuple[str | None, str], list[str]] = {}
    for found in deployments:
        for name, setting in found.settings.items():
            on_line.setdefault((found.name, str(setting.place)), []).append(name)
        for item in found.unresolved:
            on_line.setdefault((found.name, str(item.place)), []).append(item.name)
    counted: dict[Identity, int] = {}
    answers = []
    for finding in findings:
        names = _blamed(finding, on_line.get((finding.deployment, finding.where), []))
        same = Identity(finding.rule, root.split(finding.where)[0], finding.deployment, names)
        counted[same] = counted.get(same, 0) + 1
        answers.append(same._replace(number=counted[same]))
    return answers


def margin_of(figures: Mapping[str, Any]) -> float | None:
    """Need / limit at the best estimates: 1.25 is a quarter over. None for a finding without such figures."""
    for name in figures:
        prefix, _, unit = name.partition("_")
        if prefix in _NEEDS:
            for limit in _LIMITS:
                ratio = _ratio(figures[name], figures.get(f"{limit}_{unit}"))
                if ratio is not None:
                    return ratio
    for name, limit in _PAIRS:
        ratio = _ratio(figures.get(name), figures.get(limit))
        if ratio is not None:
            return ratio
    taken = [_number(figures.get(name)) for name in ("weight_bytes", "overhead_bytes")]
    return None if taken[0] is None else _ratio(taken[0] + (taken[1] or 0.0), figures.get("budget_bytes"))


def _blamed(finding: Finding, names: Sequence[str]) -> tuple[str, ...]:
    """The settings of a finding's line that it is about: those that it names, else the only one that is there.

    A command in one line has all its settings there. Which of them others were added to must not matter.
    """
    message = finding.message.replace("-", "_").lower()
    named = sorted(name for name in set(names) if name.lower() in message)
    return tuple(named or (names if len(names) == 1 else ()))


def _ratio(need: Any, limit: Any) -> float | None:
    top, bottom = _number(need), _number(limit)
    if top is None or bottom is None or top < 0.0:
        return None
    return round(top / bottom, 4) if bottom > 0.0 else None


def _number(value: Any) -> float | None:
    """A number, or the best one of an interval."""
    best = value.get("best") if isinstance(value, Mapping) else value
    if isinstance(best, bool) or not isinstance(best, int | float) or not math.isfinite(best):
        return None
    return float(best)
