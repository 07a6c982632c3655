"""``kvplan check`` as workflow commands of GitHub Actions, which become annotations on the lines of a pull request.

GitHub shows ten annotations of a kind for a step, so the worst come first. Values are escaped as the runner reads
them: ``%``, line ends, and in properties ``:`` and ``,`` too.

Source: GitHub's toolkit, packages/core/src/command.ts (escapeData, escapeProperty); docs, Workflow commands.
"""

from __future__ import annotations

from kvplan.render.check_words import verdict_line, worst_first
from kvplan.render.humans import clean
from kvplan.results.check import CheckResult
from kvplan.results.places import Root
from kvplan.rules.interface import Finding

COMMANDS = {"fail": "error", "warn": "warning", "unknown": "warning", "info": "notice"}


def render(answer: CheckResult) -> str:
    """One command a finding that counts, and the verdict as a plain line."""
    lines = [command(finding, answer.root) for finding in worst_first(answer.open)]
    return "\n".join([*lines, verdict_line(answer)]) + "\n"


def command(finding: Finding, root: Root) -> str:
    """``::error file=deploy/a.yaml,line=3,title=KV102 chat::message``."""
    path, line = root.split(finding.where)
    about = f" {finding.deployment}" if finding.deployment else ""
    title = f"{finding.rule} {finding.level}{about}"
    remedy = f"\nremedy: {clean(finding.remedy)}" if finding.remedy else ""
    text = _data(clean(finding.message) + remedy)
    return f"::{COMMANDS[finding.level]} file={_property(path)},line={line},title={_property(title)}::{text}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
