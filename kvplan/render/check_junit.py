"""``kvplan check`` as JUnit XML: one case for each deployment, and one for each finding.

A finding that fails the job is a failure, one that is suppressed or cannot be judged is skipped, any other passes and
keeps its message. Times are left out, so that the same files give the same bytes.

Source: the XML schema that Jenkins' xUnit plugin publishes (junit-10.xsd).
"""

from __future__ import annotations

from html import escape

from kvplan.render.humans import clean
from kvplan.results.check import CheckedDeployment, CheckResult
from kvplan.rules.interface import Finding


def render(answer: CheckResult) -> str:
    """The whole document."""
    cases = [_deployment_case(item, answer) for item in answer.deployments]
    cases += [_finding_case(item, answer) for item in answer.findings]
    failures, skipped = (sum(f"<{kind} " in case for case in cases) for kind in ("failure", "skipped"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="kvplan check" {counts}>',
            f'  <testsuite name="kvplan check" {counts} skipped="{skipped}">',
            *cases,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _deployment_case(item: CheckedDeployment, answer: CheckResult) -> str:
    return _case(answer, str(item.found.place), item.found.name, "")


def _finding_case(finding: Finding, answer: CheckResult) -> str:
    name = f"{finding.rule} {finding.deployment or ''}".strip()
    return _case(answer, finding.where, name, _body(finding, answer))


def _case(answer: CheckResult, where: str, name: str, body: str) -> str:
    path, line = answer.root.split(where)
    start = f'    <testcase classname="{_text(path)}" name="{_text(name)}" file="{_text(path)}" line="{line}"'
    return f"{start}>{body}</testcase>" if body else f"{start}/>"


def _body(finding: Finding, answer: CheckResult) -> str:
    if finding.suppressed is not None:
        return f'<skipped message="{_text("suppressed: " + finding.suppressed)}"/>'
    lines = [finding.message, finding.formula and f"formula: {finding.formula}"]
    lines += [finding.remedy and f"remedy: {finding.remedy}", answer.root.place(finding.where)]
    text = "\n".join(_text(line) for line in lines if line)
    if answer.gate.counts(finding.level):
        return f'<failure type="{finding.rule}" message="{_text(finding.message)}">{text}</failure>'
    if finding.level == "unknown":
        return f'<skipped message="{_text(finding.message)}"/>'
    return f"<system-out>{text}</system-out>"


def _text(text: str) -> str:
    """Escaped for attributes and elements, without the control characters that XML can't have."""
    return escape(clean(text), quote=True)
