"""``kvplan check`` with one line a finding, for editors, ``grep`` and logs: no remedies, the verdict last."""

from __future__ import annotations

from kvplan.render.check_words import verdict_line
from kvplan.render.humans import clean
from kvplan.results.check import CheckResult
from kvplan.rules.interface import Finding


def render(answer: CheckResult) -> str:
    """``path:line: level RULE deployment: message``."""
    return "\n".join(map(clean, [*map(finding_line, answer.findings), verdict_line(answer)])) + "\n"


def finding_line(finding: Finding) -> str:
    """One finding; what is suppressed is ``skipped``, with its reason at the end."""
    level = finding.level if finding.suppressed is None else "skipped"
    about = f" {finding.deployment}" if finding.deployment else ""
    reason = "" if finding.suppressed is None else f" ({finding.suppressed})"
    return f"{finding.where}: {level} {finding.rule}{about}: {finding.message}{reason}"
