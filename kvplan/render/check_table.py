"""``kvplan check`` as text: the verdict first, then one line a finding that an editor or ``grep`` can follow."""

from __future__ import annotations

from kvplan.render.humans import clean
from kvplan.results.check import CheckedDeployment, CheckResult
from kvplan.rules.interface import LEVELS, Finding
from kvplan.units import to_gib

_NOUNS = {"fail": "fail", "warn": "warning", "unknown": "unknown", "info": "info"}


def render(answer: CheckResult) -> str:
    """Plain text, the same on a terminal and in a log."""
    lines = [verdict_line(answer)]
    for finding in answer.findings:
        lines.append(finding_line(finding))
        if finding.remedy and finding.suppressed is None:
            lines.append(f"    remedy: {finding.remedy}")
    lines += [passed_line(item) for item in answer.deployments if item.outcome == "fits"]
    return "\n".join(map(clean, lines)) + "\n"


def verdict_line(answer: CheckResult) -> str:
    """``1 of 3 deployments is over budget (2 fail, 1 warning)``."""
    total = len(answer.deployments)
    if not total:
        return "no deployment is recognised"
    failing = _with_open(answer, "fail")
    unjudged = _with_open(answer, "unknown") - failing
    over = len(failing)
    lead = f"{over} of {total} deployments {'is' if over == 1 else 'are'} over budget"
    if unjudged:
        lead += f", {len(unjudged)} can't be judged for certain"
    suppressed = len(answer.findings) - len(answer.open)
    counts = [f"{answer.count(level)} {_noun(level, answer.count(level))}" for level in LEVELS if answer.count(level)]
    counts += [f"{suppressed} suppressed"] if suppressed else []
    return lead + (f" ({', '.join(counts)})" if counts else "")


def finding_line(finding: Finding) -> str:
    """``path:line: KV102 fail: message``; a suppressed one says why it does not count."""
    if finding.suppressed is not None:
        return f"{finding.where}: {finding.rule} suppressed ({finding.suppressed}): {finding.message}"
    return f"{finding.where}: {finding.rule} {finding.level}: {finding.message}"


def passed_line(item: CheckedDeployment) -> str:
    """``path:line: ok: ...``, with the figures that a pass rests on."""
    judged = item.context.judged
    if judged is None or judged.share is None:
        return f"{item.found.place}: ok: {item.found.name}"
    share, deployment = judged.share, judged.deployment
    tokens = share.pool_tokens()
    held = f" = {tokens:,} tokens" if tokens is not None else ""
    each = " on each GPU" if deployment.layout.gpus > 1 else ""
    return (
        f"{item.found.place}: ok: {deployment.model.name} on {deployment.host.name}: KV pool "
        f"{to_gib(share.pool.best):,.1f} GiB{each}{held}"
    )


def _with_open(answer: CheckResult, level: str) -> set[int]:
    return {
        index
        for index, item in enumerate(answer.deployments)
        if any(finding.level == level and finding.suppressed is None for finding in item.findings)
    }


def _noun(level: str, count: int) -> str:
    noun = _NOUNS[level]
    return noun + "s" if noun == "warning" and count != 1 else noun
