"""What a file or a configuration says may stay: where it holds, for how long, and what becomes of it afterwards."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path

import pytest

from kvplan.deployments.found import Place
from kvplan.deployments.ignores import Ignore
from kvplan.results.check import CheckResult
from kvplan.results.ignore_comments import ignored_in
from kvplan.results.suppressions import of_ignore
from kvplan.rules import all_rules
from tests.results.check_kit import SHORT, TOO_LONG, checked, failing, rule_of

SUPPRESSION = of_ignore("a:1", "", "").rule
TODAY = date(2027, 1, 31)
SCRIPT = {"serve.sh": TOO_LONG}


@pytest.fixture(scope="module")
def rule(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rule that the script fails."""
    return rule_of(tmp_path_factory.mktemp("once"), SCRIPT)


def with_comment(comment: str, text: str = TOO_LONG) -> dict[str, str]:
    """A comment alone on the line above the command."""
    return {"serve.sh": text.replace("vllm serve", f"{comment}\nvllm serve", 1)}


def faults(answer: CheckResult) -> list[str]:
    """What is said about the suppressions themselves."""
    assert all(item.deployment is None for item in answer.findings if item.rule == SUPPRESSION)
    return [f"{item.where.rsplit(':', 1)[1]}: {item.message}" for item in answer.findings if item.rule == SUPPRESSION]


def test_a_reason_makes_it_not_count_and_keeps_it_visible(tmp_path: Path, rule: str) -> None:
    answer = checked(tmp_path, with_comment(f"# kvplan: ignore[{rule}] the card is swapped next week"))
    assert failing(answer).suppressed == "the card is swapped next week"
    assert (answer.exit_code, answer.count("fail"), answer.to_json()["summary"]["suppressed"]) == (0, 0, 1)
    assert answer.deployments[0].outcome == "no"
    assert faults(answer) == []


@pytest.mark.parametrize("comment", [
    "# kvplan: ignore[{rule}] swapped next week, until=2027-01-31",
    "# kvplan: ignore[{rule}] until=2027-01-31 swapped next week",
    "#kvplan:ignore[{rule}]: swapped next week (until = 2027-01-31)",
    "## kvplan: ignore {rule} swapped next week, until=2027-01-31",
])  # fmt: skip
def test_the_last_day_counts_and_the_next_does_not(tmp_path: Path, rule: str, comment: str) -> None:
    files = with_comment(comment.format(rule=rule))
    answer = checked(tmp_path, files, today=TODAY)
    assert failing(answer).suppressed == "swapped next week (until 2027-01-31)"
    assert faults(answer) == []
    late = checked(tmp_path, files, today=date(2027, 2, 1))
    assert (failing(late).suppressed, late.exit_code) == (None, 1)
    assert faults(late) == [f"3: the comment that ignores {rule} held until 2027-01-31"]


@pytest.mark.parametrize(("comment", "says"), [
    ("# kvplan: ignore[{rule}]", "it gives no reason"),
    ("# kvplan: ignore[{rule}] until=2027-01-31", "it gives no reason"),
    ("# kvplan: ignore[{rule}] soon, until=31.01.2027", "its date must look like until=2027-01-31"),
    ("# kvplan: ignore[{rule}] soon, until=", "its date must look like until=2027-01-31"),
    ("# kvplan: ignore[{rule}] soon, until=2027-02-30", "its date must look like until=2027-01-31"),
    ("# kvplan: ignore[{rule}] soon, until=20270131", "its date must look like until=2027-01-31"),
    ("# kvplan: ignore[] everything", "it names no rule"),
    ("# kvplan: ignore the next line", "it names no rule"),
    ("# kvplan: ignore[all] everything", "there is no rule 'ALL'"),
])  # fmt: skip
def test_what_is_wrong_does_not_hold_and_is_said(tmp_path: Path, rule: str, comment: str, says: str) -> None:
    answer = checked(tmp_path, with_comment(comment.format(rule=rule)), today=TODAY)
    assert (failing(answer).suppressed, answer.exit_code) == (None, 1)
    (fault,) = faults(answer)
    assert fault.startswith("3: ") and says in fault


def test_several_rules_and_one_that_there_is_not(tmp_path: Path, rule: str) -> None:
    answer = checked(tmp_path, with_comment(f"# kvplan: ignore[{rule}, KV999] measured"))
    assert failing(answer).suppressed == "measured"
    assert faults(answer) == ["3: there is no rule KV999"]


def test_what_nothing_needs_is_said_and_fails_only_where_warnings_do(tmp_path: Path, rule: str) -> None:
    files = with_comment(f"# kvplan: ignore[{rule}] was needed once", SHORT)
    answer = checked(tmp_path, files)
    assert faults(answer) == [f"3: the comment that ignores {rule} is not needed: nothing is found there"]
    assert (answer.exit_code, answer.deployments[0].outcome) == (0, "fits")
    assert checked(tmp_path, files, fail_on="warn").exit_code == 1


def test_what_could_not_be_judged_needs_perhaps_a_reason(tmp_path: Path, rule: str) -> None:
    files = with_comment(f"# kvplan: ignore[{rule}] on the small card")
    assert faults(checked(tmp_path, files, host=None)) == []


def test_where_a_comment_holds(tmp_path: Path) -> None:
    """On its own line; alone also for the next line that is no comment; not for a line further down."""
    head = "model: meta-llama/Llama-3.1-8B-Instruct\ngpu-memory-utilization: 0.9\n"
    rule = rule_of(tmp_path, {"a.yaml": head + "max-model-len: 65536\n"})
    reason = f"# kvplan: ignore[{rule}] measured"
    for text, holds in (
        (f"{head}max-model-len: 65536  {reason}\n", True),
        (f"{head}{reason}\nmax-model-len: 65536\n", True),
        (f"{head}{reason}\n# as the load test said\n\nmax-model-len: 65536\n", True),
        (f"{head.rstrip()}  {reason}\nmax-model-len: 65536\n", False),
        (f"{head}{reason}\nmax-num-seqs: 8\nmax-model-len: 65536\n", False),
        (f"{reason}\n{head}max-model-len: 65536\n", True),  # at the head of a deployment it is about all of it
    ):
        answer = checked(tmp_path, {"a.yaml": text})
        assert (failing(answer).suppressed == "measured") is holds, text


POD = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  annotations:
    team: search
    {annotation}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.10.2
        args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=65536]
"""


@pytest.mark.parametrize("annotation", [
    'kvplan.dev/ignore.{rule}: "swapped, until=2027-01-31"',
    "kvplan.dev/ignore.{rule}: swapped until=2027-01-31  # a comment",
    "'kvplan.dev/ignore.{rule}': 'swapped, until=2027-01-31'",
    "kvplan.dev/ignore.{rule}: >-\n      swapped,\n      until=2027-01-31",
])  # fmt: skip
def test_an_annotation_speaks_for_its_object_alone(tmp_path: Path, rule: str, annotation: str) -> None:
    first = POD.format(name="a", annotation=annotation.format(rule=rule))
    other = POD.format(name="b", annotation="tier: gold")
    answer = checked(tmp_path, {"pods.yaml": f"{first}---\n{other}"}, today=TODAY)
    assert [item.name for item in (one.found for one in answer.deployments)] == ["a", "b"]
    found = {item.deployment: item.suppressed for item in answer.findings if item.level == "fail"}
    assert found == {"a": "swapped (until 2027-01-31)", "b": None}
    assert faults(answer) == []


def test_an_annotation_in_a_list_of_objects(tmp_path: Path, rule: str) -> None:
    first = POD.format(name="a", annotation=f"kvplan.dev/ignore.{rule}: measured")
    items = "".join(
        "- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (first, POD.format(name="b", annotation="x: y"))
    )
    answer = checked(tmp_path, {"list.yaml": f"apiVersion: v1\nkind: List\nitems:\n{items}"})
    found = {item.deployment: item.suppressed for item in answer.findings if item.level == "fail"}
    assert found == {"a": "measured", "b": None}


def test_an_annotation_without_a_reason_and_one_that_nothing_needs(tmp_path: Path, rule: str) -> None:
    text = POD.format(name="a", annotation=f"kvplan.dev/ignore.{rule}:")
    assert "the annotation" in faults(checked(tmp_path, {"pod.yaml": text}))[0]
    fits = POD.format(name="a", annotation=f"kvplan.dev/ignore.{rule}: once").replace("65536", "4096")
    assert "is not needed" in faults(checked(tmp_path, {"pod.yaml": fits}))[0]


@pytest.mark.parametrize(("name", "sign", "holds"), [
    ("llama.service", ";", True), ("models.ini", "; ", True), ("Modelfile", "//", True), ("a.json", "// ", True),
    ("a.yaml", ";", False), ("a.sh", "//", False), ("a.yaml", "#", True),
])  # fmt: skip
def test_comment_signs_are_those_of_the_file(name: str, sign: str, holds: bool) -> None:
    found = ignored_in(f"deploy/{name}", f"x = 1 {sign}kvplan: ignore[KV101] why\n")
    assert [(item.rule, item.reason, item.line) for item in found] == ([("KV101", "why", 1)] if holds else [])


def ignore(rule: str, glob: str = "**", reason: str = "agreed", until: date | None = None) -> Ignore:
    return Ignore(rule, reason, glob, until, Place(".kvplan.toml", 7))


@pytest.mark.parametrize(("glob", "holds"), [
    ("**", True), ("", True), ("deploy/**", True), ("deploy", True), ("deploy/", True), ("*.sh", True),
    ("deploy/*.sh", True), ("*/serve.sh", True), ("./deploy/serve.sh", True), ("**/serve.*", True),
    ("*.yaml", False), ("deploy/*.yaml", False), ("serve", False), ("other/**", False), ("deploy/?.sh", False),
])  # fmt: skip
def test_a_configuration_ignores_by_path(tmp_path: Path, rule: str, glob: str, holds: bool) -> None:
    (tmp_path / ".git").mkdir()
    answer = checked(tmp_path, {"deploy/serve.sh": TOO_LONG}, ignores=[ignore(rule, glob)])
    assert failing(answer).suppressed == ("agreed" if holds else None)
    assert faults(answer) == []  # a path that nothing was checked of is not judged


def test_a_configuration_is_held_to_account(tmp_path: Path, rule: str) -> None:
    other = next(name for name in all_rules() if name not in (rule, SUPPRESSION))
    entries = [ignore(rule, reason=" "), ignore(rule, until=date(2020, 1, 1)), ignore("KV9"), ignore(other)]
    answer = checked(tmp_path, SCRIPT, ignores=entries, today=TODAY)
    assert failing(answer).suppressed is None
    said = [item.message for item in answer.findings if item.where == ".kvplan.toml:7"]
    for text, word in zip(said, ("gives no reason", "held until 2020-01-01", "no rule KV9", "not needed"), strict=True):
        assert word in text


@pytest.mark.parametrize("text", [
    "# kvplan: ignore[KV101] x\n" * 100_000,
    "# kvplan: ignore[KV101]" + " " * 3_000_000 + "x\n",
    "# " * 1_000_000 + "kvplan: ignore[KV101] x\n",
    "#" * 3_000_000 + "kvplan: ignore[KV101] x\n",
    "metadata:\n  annotations:\n" + "    kvplan.dev/ignore.KV101: x\n" * 100_000,
    "kvplan.dev/ignore.KV101: 'x" * 100_000,
    "a: {" + "kvplan.dev/ignore.KV101: x, " * 100_000 + "}\n",
    "kvplan.dev/ignore.KV101: >-\n" + " \n" * 1_000_000,
])  # fmt: skip
def test_a_hostile_file_costs_no_time(text: str) -> None:
    began = time.perf_counter()
    assert len(ignored_in("a.yaml", text)) <= 1000
    assert time.perf_counter() - began < 5.0
