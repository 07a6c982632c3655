"""``kvplan check``: do the deployment files stay inside their host's budgets?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kvplan.deployments.found import FoundDeployment, Value
from kvplan.deployments.project_config import load_config
from kvplan.deployments.sources import read_deployments
from kvplan.engines.versions import release
from kvplan.engines.vllm_terms import default_batch
from kvplan.results.json_shapes import Json
from kvplan.results.suppressions import read_baseline, suppressed_by_baseline, suppressed_by_file
from kvplan.rules.context import Context
from kvplan.rules.examined import examined
from kvplan.rules.interface import LEVELS, Finding
from kvplan.rules.kv410_unreadable import of_file
from kvplan.rules.project_checks import check_project
from kvplan.rules.which_host import Around

SCHEMA = "kvplan.check/1"
FAIL_ON = ("fail", "warn", "unknown")
_OUTCOMES = {"fail": "no", "warn": "tight", "unknown": "unknown"}


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
    fail_on: str = "fail"
    exit_zero: bool = False

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
        if not self.deployments:
            return 3
        counted = FAIL_ON[: FAIL_ON.index(self.fail_on) + 1]
        return 1 if any(item.level in counted for item in self.open) and not self.exit_zero else 0

    def to_json(self) -> Json:
        """The envelope ``kvplan.check/1``."""
        return {
            "schema": SCHEMA,
            "summary": {
                **{level: self.count(level) for level in LEVELS},
                "suppressed": len(self.findings) - len(self.open),
                "deployments": len(self.deployments),
            },
            "deployments": [_deployment_json(item) for item in self.deployments],
            "findings": [_finding_json(item) for item in self.findings],
        }


def check(
    paths: Sequence[str],
    *,
    host: str | None = None,
    catalog: tuple[str, ...] = (),
    baseline: str | None = None,
    fail_on: str | None = None,
    exit_zero: bool = False,
) -> CheckResult:
    """Check every deployment in these files and folders. Raises InputError for a path or a baseline that is none."""
    project = load_config(paths)
    catalog = (*project.catalog, *catalog)
    check_project(project, catalog)
    baseline = baseline or project.baseline
    known = read_baseline(baseline) if baseline is not None else set()
    if host is not None:
        from kvplan.catalog.hardware import load_host

        load_host(host, catalog)  # a misspelt --host is a usage error, not one finding for each file
    found, unreadable = read_deployments(paths)
    checked: list[CheckedDeployment] = []
    findings: list[Finding] = []
    for item, source in found:
        around = Around(host, project.facts_for(source.path), catalog, source.folder)
        context, own = examined(item, around)
        own = suppressed_by_baseline(suppressed_by_file(own, item, source), known)
        checked.append(CheckedDeployment(context, tuple(own)))
        findings += own
    findings += suppressed_by_baseline([of_file(fault) for fault in unreadable], known)
    level = fail_on or project.fail_on or FAIL_ON[0]
    return CheckResult(tuple(checked), tuple(sorted(findings, key=_place_of)), level, exit_zero)


def _place_of(finding: Finding) -> tuple[str, int, int, str]:
    path, line = finding.where.rsplit(":", 1)
    return path, int(line), LEVELS.index(finding.level), finding.rule


def _deployment_json(item: CheckedDeployment) -> Json:
    found, context = item.found, item.context
    judged = context.judged
    engine = judged.deployment.engine if judged else None
    named, _, version = str(found.value("engine") or found.engine).partition("@")
    host = context.host.name if context.host else _as_text(found.value("host"))
    return {
        "name": found.name,
        "form": found.form,
        "where": str(found.place),
        "engine": engine.name if engine else named or None,
        "engine_version": engine.version if engine else version or None,
        "model": context.model.name if context.model else _as_text(found.value("model")),
        "host": host,
        "settings": {**_given(found, context), **_defaults(item)},
        "outcome": item.outcome,
    }


def _as_text(value: Value | None) -> str | None:
    """A name as the file has it: it may be a number by mistake."""
    return None if value is None else str(value)


def _given(found: FoundDeployment, context: Context) -> Json:
    """What the file says: the value as read, with its line; as written where it could not be read."""
    values = context.translated.values
    shown = {}
    for name, setting in found.settings.items():
        value = values.get(name, setting.value)
        if isinstance(value, float) and not math.isfinite(value):
            value = str(value)  # JSON has no such number
        shown[name] = {
            "value": list(value) if isinstance(value, tuple) else value,
            "where": str(setting.place),
            "default_of": None,
        }
    return shown


def _defaults(item: CheckedDeployment) -> Json:
    """What the file leaves to the engine or the model, and whose default it is."""
    judged, given = item.context.judged, item.found.settings
    if judged is None:
        return {}
    deployment = judged.deployment
    engine = f"{deployment.engine.name} {deployment.engine.version}"
    found: dict[str, tuple[object, str]] = {}
    if judged.length_by == "model":
        found["max_model_len"] = (judged.length_tokens, f"model {deployment.model.name}")
    found["tp"] = (deployment.layout.tp, engine if item.found.engine else "kvplan")
    gpu = deployment.host.gpu
    if deployment.engine.name == "vllm" and gpu is not None:
        tokens, sequences = default_batch(gpu, release(deployment.engine.version))
        found["max_num_batched_tokens"] = (tokens, engine)
        found["max_num_seqs"] = (sequences, engine)
        if not deployment.host.unified_memory and not deployment.host.display_reserve_bytes.best:
            card = judged.assessment.gpu_memory
            found["gpu_memory_utilization"] = (round(card.budget_bytes / card.total_bytes, 4), engine)
    found["kv_cache_dtype"] = ("auto", engine)
    if not item.context.has("users", "context"):
        found["users"] = (1, "kvplan: one full-length request must fit")
    return {
        name: {"value": value, "where": None, "default_of": whose}
        for name, (value, whose) in found.items()
        if name not in given
    }


def _finding_json(finding: Finding) -> Json:
    return {
        "rule": finding.rule,
        "level": finding.level,
        "deployment": finding.deployment,
        "where": finding.where,
        "message": finding.message,
        "figures": finding.figures,
        "formula": finding.formula,
        "remedy": finding.remedy,
        "suppressed": finding.suppressed,
    }
