"""``kvplan check`` as Markdown, for the summary of a CI job or a comment that a bot finds again by its first line."""

from __future__ import annotations

from kvplan.render.check_words import binds_and_headroom, gone_line, model_and_host, verdict_line, worst_first
from kvplan.render.fit_markdown import escaped
from kvplan.render.humans import OUTCOME_WORDS, clean
from kvplan.results.check import CheckedDeployment, CheckResult
from kvplan.results.places import Root
from kvplan.rules.interface import Finding

MARKER = "<!-- kvplan check -->"


def render(answer: CheckResult) -> str:
    """The verdict, a table of deployments, and a table of findings, the worst first."""
    lines = [MARKER, f"**kvplan check:** {verdict_line(answer)}", ""]
    if answer.deployments:
        lines += [
            "| deployment | where | model | host | outcome | what binds | headroom |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_deployment(item, answer.root) for item in answer.deployments]
        lines.append("")
    if answer.findings:
        lines += ["| where | rule | level | finding | remedy |", "|---|---|---|---|---|"]
        lines += [_finding(finding, answer.root) for finding in worst_first(answer.findings)]
        lines.append("")
    gone = gone_line(answer)
    return "\n".join([*lines, gone, ""] if gone else lines)


def _deployment(item: CheckedDeployment, root: Root) -> str:
    model, host = model_and_host(item)
    binds, headroom = binds_and_headroom(item)
    cells = (item.found.name, model, host, OUTCOME_WORDS[item.outcome], binds, headroom)
    name, *others = map(escaped, cells)
    return f"| {' | '.join([name, code(root.place(str(item.found.place))), *others])} |"


def _finding(finding: Finding, root: Root) -> str:
    level = finding.level if finding.suppressed is None else f"suppressed ({finding.suppressed})"
    cells = (finding.rule, level, finding.message, finding.remedy or "")
    return f"| {' | '.join([code(root.place(finding.where)), *map(escaped, cells)])} |"


def code(text: str) -> str:
    """``path:line``. Nothing is escaped inside a code span but a table's own sign, so a backtick can't be in one."""
    return escaped(text) if "`" in text or "\\" in text else "`" + clean(text).replace("|", "\\|") + "`"
