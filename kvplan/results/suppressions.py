"""Findings that don't count: those that a file, or the repository's configuration, gives a reason for.

Every suppression is held to account: one without a reason, past its date, for a rule that there is not, or that nothing
needs any more is a finding itself. What is suppressed stays visible in every output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.ignores import Ignore
from kvplan.errors import did_you_mean
from kvplan.results.ignore_comments import Ignored, ignored_in
from kvplan.results.places import Root
from kvplan.rules import all_rules
from kvplan.rules.interface import Finding
from kvplan.rules.kv418_suppression import of_ignore

_EXAMPLE = "# kvplan: ignore[{rule}] why it may stay, until=2027-01-31"


class Suppressions:
    """All suppressions of one run. ``texts`` are the files by their path, ``today`` is what dates are held against."""

    def __init__(self, texts: dict[str, str], ignores: Sequence[Ignore], root: Root, today: date) -> None:
        self.root, self.today, self.ignores = root, today, tuple(ignores)
        self.paths = {root.path(path) for path in texts}
        found = ((path, ignored_in(path, text)) for path, text in texts.items())
        self.texts = {path: items for path, items in found if items}
        self.used: set[int] = set()
        self.unjudged: set[str] = set()
        """Files with a deployment that could not be judged: what is unused there is not known."""

    def apply(self, findings: Iterable[Finding], found: FoundDeployment | None, *, judged: bool) -> list[Finding]:
        """The findings of one deployment, or those of no deployment, with the reasons that hold for them."""
        if found is not None and not judged:
            self.unjudged |= paths_of(found)
        return [self._applied(finding, found) for finding in findings]

    def faults(self) -> list[Finding]:
        """What is wrong with the suppressions themselves. Ask when all findings have been applied."""
        found = [
            fault
            for path, items in self.texts.items()
            for item in items
            if (fault := self._fault_of(item, path)) is not None
        ]
        return found + [fault for ignore in self.ignores if (fault := self._fault_of_config(ignore)) is not None]

    def _applied(self, finding: Finding, found: FoundDeployment | None) -> Finding:
        for item in self._candidates(finding, found):
            self.used.add(id(item))
            if item.fault is None and not _over(item.until, self.today):
                return replace(finding, suppressed=_reason(item.reason, item.until))
        path, _ = self.root.split(finding.where)
        for ignore in self.ignores:
            if ignore.rule.upper() == finding.rule and ignore.covers(path):
                self.used.add(id(ignore))
                if ignore.reason.strip() and not _over(ignore.until, self.today):
                    return replace(finding, suppressed=_reason(ignore.reason.strip(), ignore.until))
        return finding

    def _candidates(self, finding: Finding, found: FoundDeployment | None) -> list[Ignored]:
        """The suppressions in files that name this finding's rule and are about its line, or about its deployment."""
        if not self.texts:
            return []
        path, _, line = finding.where.rpartition(":")
        own, places = {(path, int(line))}, {(path, int(line))}
        if found is not None:
            own.add((found.place.path, found.place.line))
            places = own | {(setting.place.path, setting.place.line) for setting in found.settings.values()}
        return [
            item
            for file in sorted({file for file, _ in places})
            for item in self.texts.get(file, ())
            if item.rule == finding.rule
            and any(file == where and at in item.span for where, at in (places if item.of_object else own))
        ]

    def _fault_of(self, item: Ignored, path: str) -> Finding | None:
        where = f"{path}:{item.line}"
        rule = item.rule if item.rule in all_rules() else next(iter(all_rules()))
        named = f"the {'annotation' if item.of_object else 'comment'} that ignores {item.rule or 'something'}"
        if item.fault is not None:
            return of_ignore(where, f"{named} does not hold: {item.fault}", _EXAMPLE.format(rule=rule))
        if item.rule not in all_rules():
            return of_ignore(where, f"there is no rule {item.rule}", _meant(item.rule))
        if _over(item.until, self.today):
            return of_ignore(where, f"{named} held until {item.until}", "fix it, or give it another date")
        if id(item) not in self.used and path not in self.unjudged:
            return of_ignore(where, f"{named} is not needed: nothing is found there", "leave it out")
        return None

    def _fault_of_config(self, ignore: Ignore) -> Finding | None:
        where, named = str(ignore.place), f"the ignore of {ignore.rule} in {ignore.path_glob or '**'}"
        if ignore.rule.upper() not in all_rules():
            return of_ignore(where, f"there is no rule {ignore.rule[:20]}", _meant(ignore.rule))
        if not ignore.reason.strip():
            return of_ignore(where, f"{named} gives no reason, so it does not hold", 'reason = "why it may stay"')
        if _over(ignore.until, self.today):
            return of_ignore(where, f"{named} held until {ignore.until}", "fix it, or give it another date")
        if id(ignore) not in self.used and not self.unjudged and any(map(ignore.covers, self.paths)):
            return of_ignore(where, f"{named} is not needed: nothing is found there", "leave it out")
        return None


def paths_of(found: FoundDeployment) -> set[str]:
    """The files that a deployment was read from."""
    places = [found.place, *(setting.place for setting in found.settings.values())]
    return {place.path for place in (*places, *(item.place for item in found.unresolved))}


def _over(until: date | None, today: date) -> bool:
    """Whether the last day has passed."""
    return until is not None and today > until


def _reason(reason: str, until: date | None) -> str:
    return f"{reason} (until {until})" if until is not None else reason


def _meant(rule: str) -> str:
    guesses = did_you_mean(rule.upper(), all_rules())
    return f"did you mean {' or '.join(guesses)}?" if guesses else "kvplan explain --list"
