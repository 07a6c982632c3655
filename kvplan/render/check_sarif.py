"""``kvplan check`` as SARIF 2.1.0, for code scanning.

Paths begin at the root of the repository (``%SRCROOT%``) and are percent-encoded. A fingerprint keeps a finding the
same one when lines move. What is suppressed is in it, as suppressed.

Source: OASIS, SARIF 2.1.0 with errata 01; GitHub documentation, "SARIF support for code scanning": 25,000 results a
run, 10 MB compressed, ``shortDescription``, ``fullDescription`` and ``help`` of each rule.
"""

from __future__ import annotations

import json
from typing import Any

from kvplan import __version__
from kvplan.render.check_words import verdict_line, worst_first
from kvplan.render.humans import clean
from kvplan.results.baseline import BASELINE
from kvplan.results.check import CheckResult
from kvplan.results.fingerprints import margin_of
from kvplan.results.places import Root
from kvplan.results.rule_docs import rule_sections
from kvplan.results.rule_texts import RuleText, rule_texts
from kvplan.rules.interface import Finding

MOST_RESULTS = 25_000
LEVELS = {"fail": "error", "warn": "warning", "unknown": "warning", "info": "note"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def render(answer: CheckResult) -> str:
    """One run; no white space, since the largest answers count by their bytes."""
    return json.dumps(_log(answer), separators=(",", ":")) + "\n"


def _log(answer: CheckResult) -> dict[str, Any]:
    texts = rule_texts()
    index = {name: number for number, name in enumerate(texts)}
    sections = rule_sections()
    prints = {id(item): name.fingerprint for item, name in zip(answer.findings, answer.identities(), strict=True)}
    kept = answer.findings
    if len(kept) > MOST_RESULTS:
        kept = tuple(worst_first(kept)[:MOST_RESULTS])
    driver = {
        "name": "kvplan",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(text, sections.get(name, text.text)) for name, text in texts.items()],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "kvplan/check"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(answer, len(kept))],
        "results": [_result(item, index[item.rule], prints[id(item)], answer.root) for item in kept],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(answer: CheckResult, kept: int) -> dict[str, Any]:
    notes = [{"level": "note", "message": {"text": verdict_line(answer)}}]
    if kept < len(answer.findings):
        text = f"{len(answer.findings) - kept} of {len(answer.findings)} findings, the mildest, are left out"
        notes.append({"level": "warning", "message": {"text": text}})
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _rule(text: RuleText, section: str) -> dict[str, Any]:
    plain = section.replace("**", "").replace("`", "")
    return {
        "id": text.id,
        "name": "".join(word.capitalize() for word in "".join(map(_letter, text.title)).split()),
        "shortDescription": {"text": text.title[:1].upper() + text.title[1:]},
        "fullDescription": {"text": text.text},
        "help": {"text": plain, "markdown": section},
        "defaultConfiguration": {"level": LEVELS[text.level]},
        "properties": {"tags": ["capacity", "kv-cache"]},
    }


def _result(finding: Finding, index: int, fingerprint: str, root: Root) -> dict[str, Any]:
    path, line = root.split(finding.where)
    remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
    about = f"{finding.deployment}: " if finding.deployment else ""
    place = {"artifactLocation": location(path), "region": {"startLine": line}}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.level],
        "message": {"text": clean(f"{about}{finding.message}.{remedy}")},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"kvplan/v1": fingerprint},
        "properties": _properties(finding),
    }
    if finding.suppressed is not None:
        kind = "external" if finding.suppressed == BASELINE else "inSource"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": clean(finding.suppressed)}]
    return result


def _properties(finding: Finding) -> dict[str, Any]:
    """What only kvplan's own readers look for."""
    found = {"level": finding.level, "deployment": finding.deployment, "formula": finding.formula}
    return {key: value for key, value in {**found, "margin": margin_of(finding.figures)}.items() if value is not None}


def location(path: str) -> dict[str, str]:
    """A path of the repository below ``%SRCROOT%``, any other one as a ``file:`` URI."""
    if path.startswith("/"):
        return {"uri": "file://" + _quoted(path)}
    if path[1:3] == ":/":
        return {"uri": "file:///" + path[:2] + _quoted(path[2:])}
    return {"uri": _quoted(path), "uriBaseId": "%SRCROOT%"}


def _quoted(path: str) -> str:
    """Percent-encoded UTF-8, slashes kept; ``:`` as well, since a first part with one would be a scheme."""
    data = path.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def _letter(letter: str) -> str:
    return letter if letter.isalnum() else " "
