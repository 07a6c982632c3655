"""``kvplan check``: do the deployment files stay inside their host's budgets?"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.ignores import Ignore
from kvplan.deployments.interface import Source
from kvplan.deployments.project_config import ProjectConfig, load_config
from kvplan.deployments.source_files import read_source
from kvplan.deployments.sources import read_deployments
from kvplan.deployments.upward import lock_files
from kvplan.results.baseline import Baseline, read_baseline, write_baseline
from kvplan.results.check_json import check_json
from kvplan.results.fingerprints import Identity, identities
from kvplan.results.json_shapes import Json
from kvplan.results.places import Root
from kvplan.results.suppressions import Suppressions, paths_of
from kvplan.rules.card_mates import mates_of
from kvplan.rules.context import Context
from kvplan.rules.examined import examined
from kvplan.rules.interface import LEVELS, Finding
from kvplan.rules.kv410_unreadable import of_file
from kvplan.rules.project_checks import check_project
from kvplan.rules.which_host import Around

FAIL_ON = ("fail", "warn", "unknown")
_OUTCOMES = {"fail": "no", "warn": "tight", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class Gate:
    """What ends a job: from which level on findings count, and which don't."""

    fail_on: str | None = None
    """From ``fail`` on where nobody says another level."""
    exit_zero: bool = False
    allow_empty: bool = False
    """That nothing is recognised is fine."""
    baseline: str | None = None
    update_baseline: bool = False
    """Write the baseline anew with what is found now."""

    def counts(self, level: str) -> bool:
        """Whether an open finding of this level fails the job."""
        return level in FAIL_ON[: FAIL_ON.index(self.fail_on or FAIL_ON[0]) + 1]


@dataclass(frozen=True, slots=True)
class CheckedDeployment:
    """One deployment with the findings about it, suppressed ones included."""

    context: Context
    findings: tuple[Finding, ...]

    @property
    def found(self) -> FoundDeployment:
        return self.context.found

    @property
    def outcome(self) -> str:
        """The worst that was found, suppressed or not: a reason does not make bytes fit."""
        levels = {item.level for item in self.findings}
        return next((_OUTCOMES[level] for level in ("fail", "unknown", "warn") if level in levels), "fits")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The answer of one ``check``."""

    deployments: tuple[CheckedDeployment, ...]
    findings: tuple[Finding, ...]
    """Of all deployments and files, in the order of the files and their lines."""
    gate: Gate = field(default_factory=Gate)
    root: Root = field(default_factory=Root)
    gone: int = 0
    """Records of the baseline that nothing matches any more."""

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that count."""
        return tuple(item for item in self.findings if item.suppressed is None)

    def count(self, level: str) -> int:
        """Open findings of a level."""
        return sum(item.level == level for item in self.open)

    @property
    def exit_code(self) -> int:
        """3 where no deployment was recognised; 1 with open findings at the chosen level or worse; else 0."""
        if not self.deployments and not self.gate.allow_empty:
            return 3
        return 1 if any(self.gate.counts(item.level) for item in self.open) and not self.gate.exit_zero else 0

    def identities(self) -> list[Identity]:
        """What makes each finding the same one in another run, in the order of ``findings``."""
        return identities(self.findings, (item.found for item in self.deployments), self.root)

    def to_json(self) -> Json:
        """The envelope ``kvplan.check/1``."""
        return check_json(self)


def check(
    paths: Sequence[str],
    *,
    host: str | None = None,
    catalog: tuple[str, ...] = (),
    ignores: Sequence[Ignore] = (),
    gate: Gate | None = None,
    root: Root | None = None,
    today: date | None = None,
) -> CheckResult:
    """Check every deployment in these files and folders. Raises InputError for a path or a baseline that is none.

    ``ignores`` come beside those of the repository's configuration; dates are held against ``today``.
    """
    root = root or Root()
    project = load_config(paths)
    gate = _gate_of(gate or Gate(), project)
    catalog = (*lock_files(paths), *project.catalog, *catalog)
    check_project(project, catalog)
    baseline = read_baseline(gate.baseline) if gate.baseline and not gate.update_baseline else None
    if host is not None:
        from kvplan.catalog.hardware import load_host

        load_host(host, catalog)  # a misspelt --host is a usage error, not one finding for each file
    found, unreadable = read_deployments(paths)
    together = [item for item, _ in found]
    answers = []
    for item, source in found:
        facts = project.facts_for(source.path)
        answers.append(examined(item, Around(host, facts, catalog, source.folder, mates=mates_of(item, together))))
    ignores = (*ignores, *_of_root(project, root))
    book = Suppressions(_texts(found), ignores, root, today or date.today())
    applied = [book.apply(own, context.found, judged=context.judged is not None) for context, own in answers]
    others = book.apply(map(of_file, unreadable), None, judged=False)
    contexts = [context for context, _ in answers]
    return _finished(contexts, [*applied, [*others, *book.faults()]], gate, root, baseline)


def _gate_of(gate: Gate, project: ProjectConfig) -> Gate:
    """What the project says counts where the command says nothing."""
    return replace(gate, fail_on=gate.fail_on or project.fail_on, baseline=gate.baseline or project.baseline)


def _of_root(project: ProjectConfig, root: Root) -> Iterator[Ignore]:
    """The project's ignores, their patterns seen from the root instead of the folder of its file."""
    folder = posixpath.dirname(root.path(project.path)) if project.path else ""
    for item in project.ignores:
        inside = item.path_glob if "/" in item.path_glob.rstrip("/") else f"**/{item.path_glob}"
        yield replace(item, path_glob=f"{folder}/{inside}") if folder else item


def _finished(
    contexts: Sequence[Context], groups: Sequence[list[Finding]], gate: Gate, root: Root, baseline: Baseline | None
) -> CheckResult:
    """Everything put in order, held against the baseline, or made the new one. The last group is of no deployment."""
    flat = [(index, finding) for index, group in enumerate(groups) for finding in group]
    flat.sort(key=lambda pair: _place_of(pair[1]))
    found = [finding for _, finding in flat]
    named = identities(found, (context.found for context in contexts), root)
    if gate.baseline and gate.update_baseline and (contexts or gate.allow_empty):
        write_baseline(gate.baseline, found, named)
        baseline = read_baseline(gate.baseline)
    if baseline is not None:
        found = baseline.apply(found, named)
    own: list[list[Finding]] = [[] for _ in contexts]
    for (index, _), finding in zip(flat, found, strict=True):
        if index < len(own):
            own[index].append(finding)
    checked = tuple(CheckedDeployment(context, tuple(items)) for context, items in zip(contexts, own, strict=True))
    found = list(_each_once(found))
    files = {root.path(context.found.place.path) for context in contexts}
    return CheckResult(checked, tuple(found), gate, root, baseline.gone(named, files) if baseline else 0)


def _each_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """A line that several deployments share is told once; a failure of each of them stays its own."""
    seen: set[tuple[str, str, str, str, str | None]] = set()
    for item in findings:
        told = (item.rule, item.level, item.where, item.message, item.suppressed)
        if item.level == "fail" or told not in seen:
            seen.add(told)
            yield item


def _texts(found: Iterable[tuple[FoundDeployment, Source]]) -> dict[str, str]:
    """The text of every file that a deployment was read from: its own, and those that were joined to it."""
    texts: dict[str, str] = {}
    for _, source in found:
        texts[source.path] = source.text
    for item, _ in found:
        for path in sorted(paths_of(item) - texts.keys() - {"-"}):
            joined = read_source(path)
            texts[path] = joined.text if isinstance(joined, Source) else ""
    return texts


def _place_of(finding: Finding) -> tuple[str, int, int, str]:
    path, line = finding.where.rsplit(":", 1)
    return path, int(line), LEVELS.index(finding.level), finding.rule
