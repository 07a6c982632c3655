"""``kvplan check`` as Markdown, for the summary of a CI job or a comment."""

from __future__ import annotations

from kvplan.render.check_table import verdict_line
from kvplan.render.fit_markdown import escaped
from kvplan.render.humans import clean
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
            name, model, host = (escaped(str(text)) for text in (item.found.name, model, host))
            lines.append(f"| {name} | {_code(str(item.found.place))} | {model} | {host} | {item.outcome} |")
        lines.append("")
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    level = finding.level if finding.suppressed is None else f"suppressed ({finding.suppressed})"
    cells = (_code(finding.where), *map(escaped, (finding.rule, level, finding.message, finding.remedy or "")))
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """``path:line``. Nothing is escaped inside a code span but a table's own sign, so a backtick can't be in one."""
    return escaped(text) if "`" in text or "\\" in text else "`" + clean(text).replace("|", "\\|") + "`"
