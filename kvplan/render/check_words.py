"""Words about an answer of ``check`` that several formats share."""

from __future__ import annotations

from collections.abc import Iterable

from kvplan.render.humans import budget_in_short
from kvplan.results.binding import Binding, binding_of
from kvplan.results.check import CheckedDeployment, CheckResult
from kvplan.results.check_json import named_host, named_model
from kvplan.results.fingerprints import margin_of
from kvplan.rules.interface import LEVELS, Finding

_NOUNS = {"fail": "fail", "warn": "warning", "unknown": "unknown", "info": "info"}


def verdict_line(answer: CheckResult) -> str:
    """``1 of 3 deployments is over budget (2 fail, 1 warning, 0 unknown)``: what is not known is always counted."""
    total = len(answer.deployments)
    if not total:
        return "no deployment is recognised"
    failing = _with_open(answer, "fail")
    unjudged = _with_open(answer, "unknown") - failing
    over = len(failing)
    lead = f"{over} of {total} deployments {'is' if over == 1 else 'are'} over budget"
    if unjudged:
        lead += f", {len(unjudged)} can't be judged for certain"
    shown = [level for level in LEVELS if answer.count(level) or level == "unknown"]
    counts = [f"{answer.count(level)} {_noun(level, answer.count(level))}" for level in shown]
    suppressed = len(answer.findings) - len(answer.open)
    counts += [f"{suppressed} suppressed"] if suppressed else []
    return f"{lead} ({', '.join(counts)})"


def gone_line(answer: CheckResult) -> str | None:
    """What the baseline has and nothing has any more."""
    if not answer.gone:
        return None
    nouns = ("record", "is") if answer.gone == 1 else ("records", "are")
    return f"{answer.gone} {nouns[0]} of the baseline {nouns[1]} fixed: --update-baseline drops what is gone"


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Those that count before suppressed ones, then by level, then the furthest over their limit; else as they come."""
    return sorted(
        findings,
        key=lambda item: (
            item.suppressed is not None,
            LEVELS.index(item.level),
            -(margin_of(item.figures) or 0.0),
        ),
    )


def model_and_host(item: CheckedDeployment) -> tuple[str, str]:
    """Both names, ``?`` for what is not known."""
    return named_model(item) or "?", named_host(item) or "?"


def binds_and_headroom(item: CheckedDeployment) -> tuple[str, str]:
    """``HBM`` and ``12 % left``, ``DRAM (KV201)`` and ``31 % over``; ``?`` for what is not known."""
    binding = binding_of(item)
    if binding is None:
        return "?", "?"
    return _binds(binding), headroom_words(binding.used_fraction)


def headroom_words(used_fraction: float) -> str:
    """``12 % left``, ``31 % over``, ``3.4 times the limit``."""
    if used_fraction >= 2.0:
        return f"{used_fraction:.1f} times the limit"
    share = abs(1.0 - used_fraction) * 100.0
    digits = 0 if share >= 9.5 else 1
    return f"{share:.{digits}f} % {'over' if used_fraction > 1.0 else 'left'}"


def _binds(binding: Binding) -> str:
    name = budget_in_short(binding.budget)
    return f"{name} ({binding.rule})" if binding.rule else name


def _with_open(answer: CheckResult, level: str) -> set[int]:
    return {
        index
        for index, item in enumerate(answer.deployments)
        if any(finding.level == level and finding.suppressed is None for finding in item.findings)
    }


def _noun(level: str, count: int) -> str:
    noun = _NOUNS[level]
    return noun + "s" if noun == "warning" and count != 1 else noun
