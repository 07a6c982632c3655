"""``kvplan diff`` as Markdown for a pull request. Its first line is hidden: a bot finds its own comment by it."""

from __future__ import annotations

from kvplan.render.check_markdown import code
from kvplan.render.diff_words import sentence, setting_where, sign, value_text, verdict_line
from kvplan.render.fit_markdown import escaped
from kvplan.results.diff import DiffResult
from kvplan.results.diff_changes import DeploymentChange, FindingChange

MARKER = "<!-- kvplan diff -->"


def render(answer: DiffResult) -> str:
    """What changes, the settings behind it, and the findings that come and go."""
    lines = [MARKER, f"**kvplan diff:** {escaped(verdict_line(answer))}", ""]
    changed = [item for item in answer.deployments if item.status != "unchanged"]
    if changed:
        lines += ["| | deployment | where | change |", "|---|---|---|---|", *map(_deployment, changed), ""]
    settings = [row for item in changed for row in _settings(item)]
    if settings:
        lines += ["| deployment | setting | before | after | where |", "|---|---|---|---|---|", *settings, ""]
    findings = answer.found("new", "worse", "fixed", "suppressed")
    if findings:
        lines += ["| | where | rule | level | finding | remedy |", "|---|---|---|---|---|---|"]
        lines += [*map(_finding, findings), ""]
    return "\n".join(lines)


def _deployment(item: DeploymentChange) -> str:
    shown, side = item.shown
    place = code(side.place(str(shown.found.place)))
    return f"| `{sign(item)}` | {escaped(shown.found.name)} | {place} | {escaped(sentence(item))} |"


def _settings(item: DeploymentChange) -> list[str]:
    name = escaped(item.shown[0].found.name)
    rows = []
    for setting in item.settings:
        values = [escaped(value_text(value)) for value in (setting.old, setting.new)]
        where = setting_where(setting)
        rows.append(f"| {' | '.join([name, code(setting.name), *values, code(where) if where else ''])} |")
    return rows


def _finding(change: FindingChange) -> str:
    finding, side = change.finding, change.side
    level = finding.level if finding.suppressed is None else f"suppressed ({finding.suppressed})"
    cells = [finding.rule, level, side.text(finding.message), side.text(finding.remedy or "")]
    return f"| {' | '.join([change.status, code(side.place(finding.where)), *map(escaped, cells)])} |"
