"""What CI systems run: the GitHub action with a runner that is made up here, the pre-commit hook, GitLab's job."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.kit import kvplan
from tests.results.check_kit import SHORT, TOO_LONG, write
from tests.results.git_kit import git, repository_with

REPOSITORY = Path(__file__).resolve().parents[2]
ACTION = REPOSITORY / ".github/actions/check"
DOCS = (REPOSITORY / "docs/ci.md").read_text(encoding="utf-8")

posix = pytest.mark.skipif(os.name == "nt", reason="the action runs in a POSIX shell")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    return found


def blocks(language: str) -> list[str]:
    """The fenced blocks of ``docs/ci.md`` in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


# The action


def test_no_input_becomes_a_part_of_a_script() -> None:
    steps = action()["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert len(scripts) == 4 and all(step["shell"] == "bash" for step in steps if "run" in step)
    assert not any("${{" in script for script in scripts)
    for script in ACTION.glob("*.sh"):
        assert "${{" not in script.read_text(encoding="utf-8")
        assert "set -euo pipefail" in script.read_text(encoding="utf-8")


def test_every_input_is_used_and_documented() -> None:
    text = (ACTION / "action.yml").read_text(encoding="utf-8")
    names = set(action()["inputs"])
    assert {"version", "paths", "host", "fail-on", "baseline", "comment", "sarif"} <= names
    assert names == set(re.findall(r"inputs\.([a-z-]+)", text))
    table = DOCS.split("| input | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == names


class Runner:
    """As much of a GitHub runner as the scripts see. ``gh`` writes down its arguments and answers from a file."""

    def __init__(self, folder: Path) -> None:
        self.work = repository_with(folder / "work", {"deploy/a b.sh": SHORT}, {"deploy/a b.sh": TOO_LONG})
        self.temp = folder / "temp"
        (self.temp / "bin").mkdir(parents=True)
        for name in ("summary", "output", "calls"):
            (self.temp / name).touch()
        self._command("kvplan", f"PYTHONPATH='{REPOSITORY}' exec '{sys.executable}' -m kvplan \"$@\"")
        self._command("gh", f'echo "$*" >>"{self.temp}/calls"\ncase "$*" in *--jq*) cat "{self.temp}/ids" ;; esac\n'
                            f'exit "${{GH_EXIT:-0}}"')  # fmt: skip
        (self.temp / "ids").write_text("")

    def _command(self, name: str, body: str) -> None:
        path = self.temp / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        defaults = {
            "KVPLAN_PATHS": "deploy\n", "KVPLAN_HOST": "rtx4090", "KVPLAN_FAIL_ON": "fail", "KVPLAN_BASELINE": "",
            "KVPLAN_ALLOW_EMPTY": "false", "KVPLAN_BASE": "", "KVPLAN_ACTION": str(ACTION),
            "KVPLAN_COMMAND": str(self.temp / "bin/kvplan"), "KVPLAN_PULL_REQUEST": "7",
            "KVPLAN_HEAD_REPOSITORY": "o/r", "GITHUB_REPOSITORY": "o/r", "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"), "GITHUB_OUTPUT": str(self.temp / "output"),
            "PATH": f"{self.temp}/bin{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        return subprocess.run(
            ["bash", str(ACTION / f"{script}.sh")], cwd=self.work, env={**os.environ, **defaults, **environment},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def text(self, name: str) -> str:
        return (self.temp / name).read_text(encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@posix
def test_a_check_ends_with_annotations_a_summary_and_files(runner: Runner) -> None:
    done = runner.run("check", KVPLAN_BASE="c0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("::error file=deploy/a b.sh,line=4,title=")
    assert f"exit-code=1\nsarif-file={runner.temp}/kvplan-out/kvplan.sarif\n" == runner.text("output")
    comment = runner.text("kvplan-out/comment.md")
    assert comment.startswith("<!-- kvplan action -->\n<!-- kvplan diff -->\n")
    assert "FITS -> NO" in comment and "<!-- kvplan check -->" in comment
    assert runner.text("summary") == comment


@posix
@pytest.mark.parametrize(("environment", "code"), [
    ({"KVPLAN_FAIL_ON": "info"}, 2), ({"KVPLAN_PATHS": "nope"}, 2), ({"KVPLAN_HOST": "h100-server"}, 0),
    ({"KVPLAN_PATHS": "$(touch sprung)\n`touch sprung`"}, 2), ({"KVPLAN_HOST": "; touch sprung"}, 2),
    ({"KVPLAN_PATHS": "--exit-zero"}, 2), ({"KVPLAN_PATHS": ""}, 1), ({"KVPLAN_PATHS": "deploy/a b.sh"}, 1),
    ({"KVPLAN_BASE": "--output=x"}, 1), ({"KVPLAN_COMMAND": "/nowhere/kvplan"}, 127),
])  # fmt: skip
def test_what_a_check_ends_with_is_handed_on(runner: Runner, environment: dict[str, str], code: int) -> None:
    done = runner.run("check", **environment)
    assert done.returncode == 0, done.stderr
    assert runner.text("output").splitlines()[0] == f"exit-code={code}"
    assert not (runner.work / "sprung").exists() and not (runner.work / "x").exists()


@posix
def test_an_empty_folder_may_be_fine(runner: Runner) -> None:
    write(runner.work, {"notes/a.txt": "hello\n"})
    runner.run("check", KVPLAN_PATHS="notes")
    runner.run("check", KVPLAN_PATHS="notes", KVPLAN_ALLOW_EMPTY="true")
    codes = [line for line in runner.text("output").splitlines() if line.startswith("exit-code")]
    assert codes == ["exit-code=3", "exit-code=0"]


@posix
def test_one_comment_is_written_and_then_kept_up_to_date(runner: Runner) -> None:
    runner.run("check")
    assert runner.run("comment").returncode == 0
    look, post = runner.text("calls").splitlines()
    assert 'startswith("<!-- kvplan action -->")' in look
    assert post.startswith("api --method POST repos/o/r/issues/7/comments --field body=@")
    (runner.temp / "ids").write_text("41\n42\n")
    runner.run("comment")
    assert runner.text("calls").splitlines()[-1].startswith("api --method PATCH repos/o/r/issues/comments/41 --field")


@posix
def test_without_the_right_to_write_there_is_no_comment_and_no_failure(runner: Runner) -> None:
    runner.run("check")
    fork = runner.run("comment", KVPLAN_HEAD_REPOSITORY="someone/r")
    push = runner.run("comment", KVPLAN_PULL_REQUEST="", KVPLAN_HEAD_REPOSITORY="")
    assert (fork.returncode, push.returncode, runner.text("calls")) == (0, 0, "")
    assert "::notice::" in fork.stdout
    refused = runner.run("comment", GH_EXIT="1")
    assert refused.returncode == 0 and "could not be written" in refused.stdout


@posix
def test_a_long_comment_is_cut_where_github_would_refuse_it(runner: Runner) -> None:
    runner.run("check")
    comment = runner.temp / "kvplan-out/comment.md"
    comment.write_text("<!-- kvplan action -->\n" + "| ü row |\n" * 20_000, encoding="utf-8")
    assert runner.run("comment").returncode == 0
    short = runner.text("kvplan-out/comment.md.short")
    assert len(short) < 65_536 and short.startswith("<!-- kvplan action -->\n")
    assert short.endswith("| ü row |\n\nThe rest is in the summary of the job.\n")
    assert "comment.md.short" in runner.text("calls").splitlines()[-1]


# pre-commit


def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return dict(found)


@pytest.mark.parametrize(("name", "starts"), [
    ("deploy/chat.yaml", True), ("a.yml", True), ("run.sh", True), ("x/vllm.service", True), ("models.ini", True),
    ("Modelfile", True), ("docker/Dockerfile", True), ("Dockerfile.gpu", True), (".env", True), ("a/.env.prod", True),
    ("kvplan.toml", True), ("q.container", True), ("README.md", False), ("main.py", False), ("a.yaml.orig", False),
])  # fmt: skip
def test_files_that_start_the_hook(name: str, starts: bool) -> None:
    assert (re.search(hook()["files"], name) is not None) is starts


def test_the_hook_checks_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, *arguments = [*shlex.split(hook()["entry"]), *hook()["args"]]
    assert (entry, arguments[0], hook()["pass_filenames"]) == ("kvplan", "check", False)
    monkeypatch.chdir(tmp_path)
    assert kvplan(*arguments).code == 0  # nothing there yet
    write(tmp_path, {"deploy/serve.sh": TOO_LONG})
    assert kvplan(*arguments[:-1], "--host", "rtx4090", arguments[-1]).code == 1
    (shown,) = [yaml.safe_load(block) for block in blocks("yaml") if "kvplan-check" in block]
    (used,) = shown["repos"][0]["hooks"]
    assert used["id"] == hook()["id"]
    assert kvplan("check", *used["args"]).code == 0  # it fits on the host of the example


# What the documentation shows


def test_the_jobs_of_the_documentation_are_those_of_the_example() -> None:
    gitlab = yaml.safe_load((REPOSITORY / "examples/ci/.gitlab-ci.yml").read_text(encoding="utf-8"))
    shown = [yaml.safe_load(block) for block in blocks("yaml")]
    assert gitlab in shown
    workflow = yaml.safe_load((REPOSITORY / "examples/ci/.github/workflows/kvplan.yml").read_text(encoding="utf-8"))
    steps = [job["steps"] for item in [workflow, *shown] if "jobs" in item for job in item["jobs"].values()]
    assert len(steps) == 2 and steps[0] == steps[1]
    assert set(steps[0][1]["with"]) <= set(action()["inputs"])


def test_the_commands_of_the_jobs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gitlab = yaml.safe_load((REPOSITORY / "examples/ci/.gitlab-ci.yml").read_text(encoding="utf-8"))
    write(tmp_path, {"deploy/serve.sh": SHORT})
    monkeypatch.chdir(tmp_path)
    (command,) = gitlab["kvplan"]["script"]
    assert kvplan(*shlex.split(command)[1:]).code == 0
    reports = gitlab["kvplan"]["artifacts"]["reports"]
    assert all((tmp_path / name).exists() for name in reports.values())


def test_the_commands_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository_with(tmp_path / "r", {"deploy/serve.sh": SHORT})
    git(top, "update-ref", "refs/remotes/origin/main", "HEAD")
    monkeypatch.chdir(top)
    lines = [line.split("  #")[0] for block in blocks("sh") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("kvplan ")]
    assert len(commands) == 6
    for command in commands:
        assert kvplan(*shlex.split(command)[1:]).code == 0, command


def test_every_format_is_documented() -> None:
    from kvplan.render import check_formats

    table = DOCS.split("| format | for |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(check_formats()) - {"table"}
