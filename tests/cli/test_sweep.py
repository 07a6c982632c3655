"""``kvplan sweep`` as a person and a script see it."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kvplan.cli.fit import fit_command
from kvplan.cli.sweep import sweep_command
from kvplan.deployments.words import Words
from kvplan.render.sweep_table import evenly, letters_of, render
from kvplan.results.sweep import SweepResult, sweep
from tests.cli.kit import answer, kvplan
from tests.golden_kit import check_golden

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
GRID = ("--context", "4k:1m", "--users", "1:256")
ARGUMENTS = {
    "one-gpu": ("--model", "llama3-8b", "--host", "h100-server", "--gpus", "1"),
    "desktop": ("--model", "llama3-8b", "--host", "rtx4090"),
    "too-large": ("--model", "llama3-70b", "--host", "rtx4090"),
}


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> None:
    """So that no command here has to say on stderr that it compiles."""
    sweep(Words(model="llama3-8b", host="rtx4090"), "4k", "1")


def result(name: str, contexts: str = "4k:1m", users: str = "1:256") -> SweepResult:
    gpus = 1 if name == "one-gpu" else None
    return sweep(Words(model=ARGUMENTS[name][1], host=ARGUMENTS[name][3], gpus=gpus), contexts, users)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("columns", [80, 100, 160])
def test_golden(monkeypatch: pytest.MonkeyPatch, name: str, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = kvplan("sweep", *ARGUMENTS[name], *GRID)
    check_golden(f"sweep-{name}-{columns}.txt", done.out)


def test_golden_of_other_formats() -> None:
    few = ("--context", "8k,64k", "--users", "4,64", "--strategy", "hbm", "--strategy", "kv-fp8")
    check_golden("sweep-desktop.csv", kvplan("sweep", *ARGUMENTS["desktop"], *few, "--format", "csv").out)
    found = answer("sweep", *ARGUMENTS["desktop"], *few)
    del found["catalog"]  # paths and digests of this machine's catalogs
    check_golden("sweep-desktop.json", json.dumps(found, indent=2) + "\n")


@pytest.mark.parametrize("columns", range(60, 170, 9))
@pytest.mark.parametrize("users", ["1:256", "1:100000:300"])
def test_no_line_is_wider_than_the_screen(monkeypatch: pytest.MonkeyPatch, columns: int, users: str) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = render(result("desktop", "4k:128k", users))
    assert [line for line in text.splitlines() if len(line) > columns] == []


def test_colour_adds_nothing_to_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result("desktop")
    plain = render(found)
    assert "\x1b" not in plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = render(found)
    assert "\x1b" in coloured
    assert [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()] == plain.splitlines()


def test_the_map_shows_what_the_grid_holds() -> None:
    found = result("desktop", "4k:256k", "1:256")
    text = render(found)
    frontier = found.frontier
    letters = letters_of(frontier)
    rows = [line.split() for line in text.splitlines() if re.match(r" *\d[\d,]* +[A-Za-z.?-]( |$)", line)]
    assert [row[0].replace(",", "") for row in rows] == [str(context) for context in frontier.contexts]
    for shown, points in zip(rows, frontier.points, strict=True):
        for mark, point in zip(shown[1:], points, strict=True):
            if point.strategy is None:
                assert mark == ("-" if point.bound_by == "context" else ".")
            else:
                assert mark.upper() == letters[point.strategy]
                assert mark.isupper() == (point.outcome == "fits")
    for name, letter in letters.items():
        assert re.search(rf"(^|\s){letter} {re.escape(name)}(\s|$)", text), "the legend explains every letter"
    assert "beyond the 131,072 tokens" in text


def test_a_map_of_one_host_without_any_winner() -> None:
    done = kvplan("sweep", *ARGUMENTS["too-large"], "--strategy", "hbm", "--context", "4k", "--users", "1:4")
    assert done.code == 1
    assert done.out.startswith("Nothing fits at any of 3 points.\n")
    assert "nothing fits: HBM binds" in done.out


def test_large_grids_say_what_they_leave_out() -> None:
    found = result("desktop", "4k:128k:60", "1:300:70")
    text = render(found)
    hidden = int(re.search(r"([\d,]+) points between these are not shown", text)[1].replace(",", ""))  # type: ignore[index]
    shown = sum(len(line.split()) - 1 for line in text.splitlines() if re.match(r" *[\d,]+ +[A-Za-z.?-]( |$)", line))
    assert hidden + shown == len(found.frontier.contexts) * len(found.frontier.users)


def test_evenly_keeps_both_ends() -> None:
    assert evenly(5, 9) == [0, 1, 2, 3, 4]
    assert evenly(100, 3) == [0, 50, 99]
    for count in (2, 7, 300):
        for most in (2, 5, 40):
            chosen = evenly(count, most)
            assert (chosen[0], chosen[-1]) == (0, count - 1)
            assert len(chosen) <= max(most, 2)


def test_csv_has_one_row_a_point_and_strategy_and_one_winner_a_point() -> None:
    done = kvplan("sweep", *ARGUMENTS["desktop"], *GRID, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    found = answer("sweep", *ARGUMENTS["desktop"], *GRID)
    contexts, users = found["axes"]["context_tokens"], found["axes"]["users"]
    strategies = {item["id"]: item["outcomes"] for item in found["strategies"]}
    assert len(rows) == len(contexts) * len(users) * len(strategies)
    winners: Counter[tuple[str, str]] = Counter()
    for row in rows:
        at = contexts.index(int(row["context_tokens"])), users.index(int(row["users"]))
        assert row["outcome"] == strategies[row["strategy"]][at[0]][at[1]]
        won = row["winner"] == "true"
        winners[row["context_tokens"], row["users"]] += won
        assert won == (found["winners"][at[0]][at[1]] == row["strategy"])
        if won:
            assert float(row["itl_s"]) == found["itl_s"][at[0]][at[1]]
    expected = sum(name is not None for line in found["winners"] for name in line)
    assert sum(winners.values()) == expected > 20
    assert max(winners.values()) == 1


def test_json_agrees_with_fit() -> None:
    found = answer("sweep", *ARGUMENTS["one-gpu"], "--context", "32k", "--users", "64")
    single = answer("fit", *ARGUMENTS["one-gpu"], "--context", "32k", "--users", "64")
    assert found["schema"] == "kvplan.sweep/1"
    assert found["winners"] == [[single["verdict"]["strategy"]]]
    assert found["outcomes"] == [[single["verdict"]["outcome"]]]
    assert {item["id"]: item["outcomes"][0][0] for item in found["strategies"]} == {
        item["id"]: item["outcome"] for item in single["strategies"]
    }
    for part in ("model", "host", "engine", "objectives", "layout", "catalog"):
        assert found[part] == single[part]


def test_it_takes_every_option_of_fit() -> None:
    names = [set(inspect.signature(command).parameters) for command in (fit_command, sweep_command)]
    assert names[0] - names[1] == {"hosts", "sensitivity", "seed"}, "a grid shows for itself what turns a verdict"
    assert names[1] - names[0] == {"host"}


def test_outputs_and_stdout(tmp_path: Path) -> None:
    few = ("--context", "8k", "--users", "4")
    files = (
        "--output",
        f"{tmp_path / 'a.csv'}",
        "--output",
        f"json={tmp_path / 'b'}",
        "--output",
        f"{tmp_path / 'c.txt'}",
    )
    done = kvplan("sweep", *ARGUMENTS["desktop"], *few, *files)
    assert (done.code, done.out) == (0, "")
    assert (
        (tmp_path / "a.csv").read_text().startswith("context_tokens,users,strategy,outcome,winner,itl_s\n8192,4,hbm,")
    )
    assert (tmp_path / "b").read_text() == kvplan("sweep", *ARGUMENTS["desktop"], *few, "--format", "json").out
    assert (tmp_path / "c.txt").read_text().startswith("At 8,192 tokens ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--users", "8:4"), "error: --users '8:4' ends before it starts"),
        (("--context", "4k:x"), "error: --context must look like 32768, 32k or 1m (it is 'x')"),
        (("--format", "sarif"), "error: --format 'sarif' is not known"),
        (("--strategy", "kv-fp9"), "error: no strategy named 'kv-fp9'"),
    ],
)
def test_slips_are_one_line_and_exit_2(arguments: tuple[str, ...], message: str) -> None:
    done = kvplan("sweep", *ARGUMENTS["desktop"], *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == message


def test_a_second_host_is_refused() -> None:
    done = kvplan("sweep", *ARGUMENTS["desktop"], "--host", "h100-server")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: --host is given more than once; a sweep is of one host\nhelp: kvplan fit compares hosts\n"
    )


def test_the_help_shows_the_forms_of_a_range() -> None:
    text = kvplan("sweep", "--help").out
    assert "FROM:TO:COUNT" in text
    assert "🅱" not in text


def test_damaged_compiled_code_is_discarded(tmp_path: Path) -> None:
    line = ("sweep", *ARGUMENTS["desktop"], "--context", "8k", "--users", "4", "--format", "csv")

    def run() -> tuple[int, str]:
        environment = {**os.environ, "KVPLAN_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-m", "kvplan", *line]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout

    expected = run()
    assert expected[0] == 0
    for ending, damage in (("nbi", b""), ("nbc", b"\x80\x04garbage"), ("nbi", b"\x80\x04garbage")):
        (file,) = tmp_path.rglob(f"*.{ending}")
        file.write_bytes(damage)
        assert run() == expected
        assert next(tmp_path.rglob(f"*.{ending}")).read_bytes() != damage, "it is compiled and kept anew"


def test_an_end_of_file_is_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **words: object) -> None:
        raise EOFError("ran out of input")

    monkeypatch.delenv("KVPLAN_DEBUG", raising=False)
    monkeypatch.setattr("kvplan.cli.sweep.sweep", broken)
    done = kvplan("sweep", *ARGUMENTS["desktop"])
    assert done.code == 70
    assert "error: EOFError: ran out of input\n" in done.err
