"""``kvplan check`` as a code quality report of GitLab, which shows it in merge requests.

Source: GitLab documentation, Code Quality, "Code Quality report format": description, check_name, fingerprint,
severity, location.path without ``./``, location.lines.begin. Suppressed findings have no place in that format.
"""

from __future__ import annotations

import json

from kvplan.render.humans import clean
from kvplan.results.check import CheckResult

SEVERITIES = {"fail": "critical", "warn": "major", "unknown": "minor", "info": "info"}


def render(answer: CheckResult) -> str:
    """A JSON array with the findings that count."""
    records = []
    for finding, identity in zip(answer.findings, answer.identities(), strict=True):
        if finding.suppressed is not None:
            continue
        about = f"{finding.deployment}: " if finding.deployment else ""
        remedy = f" Remedy: {finding.remedy}" if finding.remedy else ""
        path, line = answer.root.split(finding.where)
        records.append(
            {
                "description": clean(f"{about}{finding.message}.{remedy}"),
                "check_name": finding.rule,
                "fingerprint": identity.fingerprint,
                "severity": SEVERITIES[finding.level],
                "location": {"path": clean(path), "lines": {"begin": line}},
            }
        )
    return json.dumps(records, indent=2) + "\n"
