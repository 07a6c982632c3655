"""What a change does to deployments: of git revisions and of folders."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from kvplan.errors import InputError
from kvplan.render.diff_words import sentence, thousands
from kvplan.results.check import Gate
from kvplan.results.diff import DiffResult, diff
from tests.results.check_kit import HOST, SHORT, TOO_LONG, write
from tests.results.git_kit import git, repository_with, state_of

POD = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.23.0
        args:
        - --model=meta-llama/Llama-3.1-8B-Instruct
        - --max-model-len=16384
        - --gpu-memory-utilization=0.9
        resources:
          limits: {nvidia.com/gpu: 1, cpu: 8, memory: 200Gi}
        env: [{name: OMP_NUM_THREADS, value: "4"}]
"""
LARGER = POD.replace("=0.9", "=0.6").replace(
    "        resources", "        - --kv-offloading-size=96\n        resources"
)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three commits, the current folder."""
    folder = repository_with(
        tmp_path / "repository",
        {"deploy/chat.yaml": POD, "deploy/old.sh": SHORT, "deploy/gone.sh": SHORT.replace("8192", "4096")},
        {"deploy/chat.yaml": LARGER, "deploy/gone.sh": None, "deploy/old.sh": None, "deploy/new.sh": SHORT},
        {"deploy/long.sh": TOO_LONG},
    )
    monkeypatch.chdir(folder)
    return folder


def compared(base: str, head: str, *paths: str, host: str | None = HOST, **gate: Any) -> DiffResult:
    return diff((base, head), paths or (".",), host=host, gate=Gate(**gate))


def statuses(answer: DiffResult) -> dict[str, str]:
    return {item.shown[0].found.name: item.status for item in answer.deployments}


def test_the_sentence_that_a_reviewer_reads(top: Path) -> None:
    answer = compared("c0", "c1", host="h100-server")
    (chat,) = [item for item in answer.deployments if item.shown[0].found.name == "chat"]
    assert chat.status == "changed"
    words = sentence(chat)
    assert words.startswith("KV pool 437k -> ") and " tokens, pinned host memory +96 GiB, " in words
    assert words.endswith("still FITS")
    settings = {item.name: item for item in chat.settings}
    assert list(settings) == ["gpu_memory_utilization", "kv_offloading_size"]
    assert settings["gpu_memory_utilization"][1:] == (0.9, 0.6, "deploy/chat.yaml:14", "deploy/chat.yaml:14")
    assert settings["kv_offloading_size"][1:] == (None, 96.0, None, "deploy/chat.yaml:15")


def test_deployments_that_come_go_and_move(top: Path) -> None:
    answer = compared("c0", "c1")
    assert statuses(answer) == {"chat": "changed", "new": "changed", "gone": "removed"}
    (moved,) = [item for item in answer.deployments if item.has_moved]
    assert moved.places() == ("deploy/old.sh:3", "deploy/new.sh:3")
    assert sentence(moved) == "was deploy/old.sh:3 old, still FITS"
    assert statuses(compared("c1", "c2")) == {"chat": "unchanged", "long": "added", "new": "unchanged"}


def test_only_what_is_new_or_worse_fails(top: Path) -> None:
    assert compared("c1", "c2").exit_code == 1
    assert compared("c2", "c1").exit_code == 0
    assert compared("c2", "c2").exit_code == 0
    assert compared("c1", "c2", exit_zero=True).exit_code == 0
    assert [item.status for item in compared("c1", "c2").findings if item.finding.level == "fail"] == [
        "new",
        "unchanged",
        "unchanged",
    ]
    assert [item.status for item in compared("c2", "c1").findings if item.finding.level == "fail"] == [
        "fixed",
        "unchanged",
        "unchanged",
    ]


def test_a_finding_that_gets_worse_fails_and_one_that_gets_better_does_not(top: Path) -> None:
    for number, length in ((3, "98304"), (4, "60000")):
        write(top, {"deploy/long.sh": TOO_LONG.replace("65536", length)})
        git(top, "commit", "-qam", length), git(top, "tag", f"c{number}")
    worse, better = compared("c2", "c3", "deploy/long.sh"), compared("c3", "c4", "deploy/long.sh")
    assert [[item.status for item in one.findings] for one in (worse, better)] == [["worse"], ["unchanged"]]
    assert (worse.exit_code, better.exit_code) == (1, 0)


def test_a_finding_of_a_moved_deployment_is_not_new(top: Path) -> None:
    (top / "deploy/long.sh").rename(top / "deploy/longer.sh")
    git(top, "add", "-A"), git(top, "commit", "-qm", "moved")
    answer = compared("c2", "HEAD", "deploy")
    assert {item.status for item in answer.findings} == {"unchanged"}
    assert answer.exit_code == 0


def test_a_reason_that_is_added_and_one_that_is_taken_away(top: Path) -> None:
    rule = next(item.finding.rule for item in compared("c1", "c2").found("new"))
    reason = TOO_LONG.replace("vllm serve", f"# kvplan: ignore[{rule}] agreed\nvllm serve")
    write(top, {"deploy/long.sh": reason})
    git(top, "commit", "-qam", "agreed")
    assert {item.status for item in compared("c2", "HEAD", "deploy/long.sh").findings} == {"suppressed"}
    assert compared("c2", "HEAD", "deploy/long.sh").exit_code == 0
    assert compared("HEAD", "c2", "deploy/long.sh").exit_code == 1


def test_the_working_tree_and_folders(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(top, {"deploy/chat.yaml": POD})  # not committed
    answer = compared("c2", ".", "deploy/chat.yaml")
    assert statuses(answer) == {"chat": "changed"} and answer.sides[1].commit is None
    assert answer.deployments[0].places() == ("deploy/chat.yaml:12", "deploy/chat.yaml:12")
    monkeypatch.chdir(top / "deploy")
    assert compared("c2", ".", "chat.yaml").deployments[0].places() == ("deploy/chat.yaml:12", "deploy/chat.yaml:12")
    assert statuses(compared("c1", "c2", "long.sh")) == {"long": "added"}
    other = tmp_path / "other"
    write(other, {"deploy/chat.yaml": LARGER})
    monkeypatch.chdir(tmp_path)
    folders = compared("repository", "other", "deploy/chat.yaml")
    assert folders.deployments[0].places() == ("deploy/chat.yaml:12", "deploy/chat.yaml:12")
    assert statuses(folders) == {"chat": "changed"}
    monkeypatch.chdir(top)
    assert statuses(compared("c0", str(other), "deploy/chat.yaml")) == {"chat": "changed"}


@pytest.mark.parametrize(("base", "head", "paths", "says"), [
    ("nope", "HEAD", ["."], "no revision and no folder is named 'nope'"),
    ("--upload-pack=touch x", "HEAD", ["."], "no revision and no folder is named '--upload-pack"),
    ("-c0", "HEAD", ["."], "no revision and no folder is named"),
    ("c0\nc1", "HEAD", ["."], "no revision and no folder is named"),
    ("c0:deploy", "HEAD", ["."], "no revision and no folder is named"),
    ("c0", "HEAD", ["nope.yaml"], "no such file or folder on either side"),
    ("c0", "HEAD", ["../other"], "lies outside of the repository"),
    ("deploy", "HEAD", ["."], "is a folder and a revision"),
])  # fmt: skip
def test_what_cannot_be_compared(top: Path, base: str, head: str, paths: list[str], says: str) -> None:
    git(top, "branch", "deploy")
    with pytest.raises(InputError) as caught:
        compared(base, head, *paths)
    assert says in str(caught.value)


def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="no git repository"):
        compared("main", "HEAD")


def test_nothing_recognised_on_either_side(top: Path) -> None:
    write(top, {"notes/a.txt": "hello\n"})
    git(top, "add", "-A"), git(top, "commit", "-qm", "notes")
    assert compared("HEAD", "HEAD", "notes").exit_code == 3
    assert compared("HEAD", "HEAD", "notes", allow_empty=True).exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="hooks and filters here are for a POSIX shell")
def test_nothing_of_the_repository_runs_and_nothing_in_it_changes(top: Path) -> None:
    """Hooks, filters, textconv and an external diff that leave a trace, were they run."""
    trap = top.parent / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{top.parent}/sprung'\ncat\n")
    trap.chmod(trap.stat().st_mode | stat.S_IEXEC)
    (top / ".gitattributes").write_text("*.yaml filter=trap diff=trap\n*.sh filter=trap\n")
    git(top, "add", ".gitattributes"), git(top, "commit", "-qm", "attributes")
    for key in ("filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "diff.trap.textconv", "diff.external",
                "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand"):  # fmt: skip
        git(top, "config", key, str(trap))
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (top / ".git/hooks" / hook).symlink_to(trap)
    before = state_of(top)
    assert compared("c0", "HEAD").exit_code == 1
    assert not (top.parent / "sprung").exists()
    assert state_of(top) == before


@pytest.mark.skipif(sys.platform != "linux", reason="names and links as Linux has them")
def test_links_and_odd_names_stay_outside(top: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.sh"
    secret.write_text(TOO_LONG)
    (top / "deploy/link.sh").symlink_to(secret)
    (top / "deploy/line\nend.sh").write_text(TOO_LONG)
    (top / "deploy/tab\tü.sh").write_text(TOO_LONG)
    git(top, "add", "-A"), git(top, "commit", "-qm", "odd")
    assert [item.status for item in compared("c2", "HEAD").deployments].count("added") == 2


def test_a_tree_that_leads_out_is_not_written(top: Path) -> None:
    """A tree object with ``..`` in it: ``git`` itself refuses to check it out, and its files are left out here."""
    import subprocess

    blob = git(top, "rev-parse", "c2:deploy/long.sh")

    def tree(*entries: tuple[bytes, bytes, str]) -> str:
        data = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        command = ["git", "-C", str(top), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()

    inner = tree((b"100644", b"escaped.sh", blob))
    commit = git(top, "commit-tree", tree((b"40000", b"..", inner), (b"100644", b"in.sh", blob)), "-m", "bad")
    answer = compared("c2", commit, ".")
    assert [item.head.found.name for item in answer.deployments if item.head is not None] == ["in"]


def test_a_baseline_counts_for_both_sides(top: Path) -> None:
    from kvplan.results.check import check

    path = str(top / "baseline.json")
    check(["deploy"], host=HOST, gate=Gate(baseline=path, update_baseline=True))
    assert compared("c1", "c2", baseline=path).exit_code == 0


@pytest.mark.parametrize(("tokens", "text"), [
    (412, "412"), (9870, "9,870"), (77123, "77k"), (999_499, "999k"), (1_250_000, "1.25M"),
])  # fmt: skip
def test_tokens_in_short(tokens: int, text: str) -> None:
    assert thousands(tokens) == text
