"""Findings that do not count: those that the file itself gives a reason for, and those of a baseline."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Source
from kvplan.errors import InputError
from kvplan.rules.interface import Finding
from kvplan.rules.kv418_suppression import of_comment
from kvplan.units import MIB, shorten

BASELINE = "baseline"
_COMMENT = re.compile(
    r"#[ \t]*kvplan:[ \t]*ignore[ \t]+(KV\d{3}(?:[ \t]*,[ \t]*KV\d{3})*)[ \t:]*([^\n]*)", re.IGNORECASE
)
_LARGEST_BASELINE_BYTES = 16 * MIB

Fingerprint = tuple[str, str | None, str]


def suppressed_by_file(findings: Sequence[Finding], found: FoundDeployment, source: Source) -> list[Finding]:
    """Findings with the reason of a comment on their line, the line before, or the same two of the deployment itself.

    A command over several lines has no room for a comment inside, so its first line stands for all of it.
    """
    if "kvplan:" not in source.text.lower():
        return list(findings)
    lines = source.text.split("\n")
    answers: list[Finding] = []
    complained: set[tuple[str, str]] = set()
    for finding in findings:
        comment = _comment_for(finding, found, lines)
        if comment is None:
            answers.append(finding)
        elif comment[1]:
            answers.append(replace(finding, suppressed=comment[1]))
        else:
            answers.append(finding)
            where = f"{source.path}:{comment[0]}"
            if (where, finding.rule) not in complained:
                complained.add((where, finding.rule))
                answers.append(of_comment(found.name, where, finding.rule))
    return answers


def _comment_for(finding: Finding, found: FoundDeployment, lines: list[str]) -> tuple[int, str] | None:
    """(line, reason) of the comment that names this rule; the reason is empty where none is given."""
    own = int(finding.where.rsplit(":", 1)[1])
    for line in dict.fromkeys((own, own - 1, found.place.line, found.place.line - 1)):
        match = _COMMENT.search(lines[line - 1]) if 1 <= line <= len(lines) else None
        if match and finding.rule in re.split(r"[ \t]*,[ \t]*", match[1].upper()):
            return line, match[2].strip()
    return None


def read_baseline(path: str) -> set[Fingerprint]:
    """The fingerprints of an earlier ``--format json`` output."""
    where = shorten(path, 200)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError("is not a regular file", where=where)
        with open(path, "rb") as file:
            data = file.read(_LARGEST_BASELINE_BYTES + 1)
        if len(data) > _LARGEST_BASELINE_BYTES:
            raise InputError("is larger than 16 MiB, too large for a baseline", where=where)
        document = json.loads(data)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or 'error'}", where=where) from None
    except (ValueError, RecursionError):
        document = None
    listed = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(document, dict) or document.get("schema") != "kvplan.check/1" or not isinstance(listed, list):
        raise InputError("is no output of kvplan check --format json", where=where)
    items = [item for item in listed if isinstance(item, dict)]
    return {(str(item.get("rule")), _name(item.get("deployment")), str(item.get("message"))) for item in items}


def suppressed_by_baseline(findings: Sequence[Finding], known: set[Fingerprint]) -> list[Finding]:
    """Findings that an earlier run had already, by rule, deployment and message: lines may have moved."""
    return [
        replace(item, suppressed=BASELINE)
        if item.suppressed is None and (item.rule, item.deployment, item.message) in known
        else item
        for item in findings
    ]


def _name(value: object) -> str | None:
    return None if value is None else str(value)
