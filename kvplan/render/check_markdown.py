"""``kvplan check`` as Markdown, for the summary of a CI job or a comment."""

from __future__ import annotations

from kvplan.render.check_table import verdict_line
from kvplan.results.check import CheckResult
from kvplan.rules.interface import Finding


def render(answer: CheckResult) -> str:
    """The verdict, a table of findings, and a table of deployments."""
    lines = [f"**kvplan check:** {verdict_line(answer)}", ""]
    if answer.findings:
        lines += ["| where | rule | level | finding | remedy |", "|---|---|---|---|---|"]
        lines += [_row(finding) for finding in answer.findings]
        lines.append("")
    if answer.deployments:
        lines += ["| deployment | where | model | host | outcome |", "|---|---|---|---|---|"]
        for item in answer.deployments:
            model = item.context.model.name if item.context.model else item.found.value("model") or "?"
            host = item.context.host.name if item.context.host else "?"
            cells = (item.found.name, f"`{item.found.place}`", model, host, item.outcome)
            lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    level = finding.level if finding.suppressed is None else f"suppressed ({finding.suppressed})"
    cells = (f"`{finding.where}`", finding.rule, level, finding.message, finding.remedy or "")
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Text from files, kept from being read as a table's own signs or as HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
