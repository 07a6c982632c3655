"""``kvplan check`` as text: the verdict first, then one line a finding that an editor or ``grep`` can follow."""

from __future__ import annotations

from kvplan.render.check_words import gone_line, verdict_line
from kvplan.render.humans import clean
from kvplan.results.check import CheckedDeployment, CheckResult
from kvplan.rules.interface import Finding
from kvplan.units import to_gib


def render(answer: CheckResult) -> str:
    """Plain text, the same on a terminal and in a log."""
    lines = [verdict_line(answer)]
    for finding in answer.findings:
        lines.append(finding_line(finding))
        if finding.remedy and finding.suppressed is None:
            lines.append(f"    remedy: {finding.remedy}")
    lines += [passed_line(item) for item in answer.deployments if item.outcome == "fits"]
    gone = gone_line(answer)
    return "\n".join(map(clean, [*lines, gone] if gone else lines)) + "\n"


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
