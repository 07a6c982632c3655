"""``kvplan diff`` as text: what changes first, then the findings that come and go."""

from __future__ import annotations

from kvplan.render.diff_words import sentence, setting_where, sign, value_text, verdict_line
from kvplan.render.humans import clean
from kvplan.results.diff import DiffResult
from kvplan.results.diff_changes import DeploymentChange, FindingChange


def render(answer: DiffResult) -> str:
    """Plain text; what did not change is only counted."""
    lines = [verdict_line(answer)]
    for item in answer.deployments:
        if item.status != "unchanged":
            lines += _deployment(item)
    for change in answer.found("new", "worse", "fixed", "suppressed"):
        lines += _finding(change)
    return "\n".join(map(clean, lines)) + "\n"


def _deployment(item: DeploymentChange) -> list[str]:
    shown, side = item.shown
    lines = [f"{sign(item)} {side.place(str(shown.found.place))} {shown.found.name}: {sentence(item)}"]
    for setting in item.settings:
        change = f"{setting.name}: {value_text(setting.old)} -> {value_text(setting.new)}"
        where = setting_where(setting)
        lines.append(f"    {change}" + (f"  ({where})" if where else ""))
    return lines


def _finding(change: FindingChange) -> list[str]:
    finding, side = change.finding, change.side
    why = f" ({finding.suppressed})" if change.status == "suppressed" else ""
    where = side.place(finding.where)
    lines = [f"{change.status}: {where}: {finding.rule} {finding.level}{why}: {side.text(finding.message)}"]
    if finding.remedy and change.status in ("new", "worse"):
        lines.append(f"    remedy: {side.text(finding.remedy)}")
    return lines
