"""Where reloading pays, what turns a verdict, and what a task can't bear, as a person reads it."""

from __future__ import annotations

import re

import pytest

from kvplan.domain.assessment import BreakEven
from kvplan.domain.interval import Interval
from kvplan.domain.sensitivity import Sensitivity, Turn
from kvplan.render.fit_firmness import break_even_words, sensitivity_words
from tests.cli.kit import kvplan
from tests.golden_kit import check_golden

SMALL = ("fit", "--model", "llama3-8b", "--host", "rtx4090", "--context", "16k", "--users", "2", "--sensitivity")
DOUBTFUL = ("fit", "--model", "deepseek-v3", "--host", "h100-server", "--context", "128k", "--users", "2",
            "--sensitivity")  # fmt: skip
REASONING = ("fit", "--model", "llama3-8b", "--host", "b200-server", "--gpus", "1", "--context", "128k",
             "--users", "30", "--strategy", "hbm", "--strategy", "kv-nvfp4", "--strategy", "offload-reuse", "--task",
             "reasoning")  # fmt: skip
HERE = ("explain", "offload-reuse", "--host", "h100-server", "--model", "llama3-70b")


@pytest.mark.parametrize(
    ("name", "command"),
    [("fit-sensitivity-100.txt", SMALL), ("fit-sensitivity-doubtful-100.txt", DOUBTFUL),
     ("fit-task-reasoning-100.txt", REASONING), ("explain-offload-reuse-here-100.txt", HERE),
     ("fit-sensitivity.md", (*SMALL, "--format", "markdown"))],
)  # fmt: skip
def test_golden(monkeypatch: pytest.MonkeyPatch, name: str, command: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    check_golden(name, kvplan(*command).out)


def test_nothing_is_said_of_sensitivity_unless_asked() -> None:
    assert "Sensitivity" not in kvplan(*SMALL[:-1]).out


def test_the_break_even_is_said_beside_what_the_row_was_judged_at() -> None:
    text = " ".join(kvplan(*SMALL[:-1]).out.split())
    form = (
        r"offload-reuse: a reload beats recomputing from [\d,]+ cached tokens on \([\d,]+\.\.[\d,]+\); it pays in "
        r"throughput above [\d.]+% of hits \([\d.]+%\.\.[\d.]+%\); judged at a hit fraction of 0 "
        r"\(--prefix-hit-fraction\)\. "
    )
    assert re.search(form, text) is not None
    said = kvplan(*SMALL[:-1], "--prefix-hit-fraction", "0.5").out
    assert "a reload beats recomputing" in said and "judged at" not in said


def test_what_never_pays_says_so() -> None:
    assert break_even_words(BreakEven(None, None)) == [
        "recomputing beats a reload at every length", "prefill throughput gains at no share of hits",
    ]  # fmt: skip
    exact = BreakEven(Interval.exact(1024), Interval(0.03, 0.031, 0.034))
    assert break_even_words(exact) == [
        "a reload beats recomputing from 1,024 cached tokens on",
        "it pays in throughput above 3.1% of hits (3.0%..3.4%)",
    ]


def sentences(*turns: Turn, holds: float | None = 0.936) -> str:
    return " ".join(sensitivity_words(Sensitivity(1, 512, ("weights", "CPU cores"), holds, turns)))


def test_the_first_turn_is_told_in_full_and_the_next_two_in_short() -> None:
    turns = (
        Turn("usable GPU memory", -0.04, "fits", "kv-fp8", "hbm"),
        Turn("weights", 0.07, "no", None, "hbm"),
        Turn("users", 0.125, "no", None, "hbm"),
        Turn("context", 0.15, "no", None, "hbm"),
    )
    assert sentences(*turns) == (
        "the verdict turns if usable GPU memory is 4.0% less: it misses HBM, and kv-fp8 works then. "
        "Also if weights are 7.0% more, or if users are 12.5% more; 1 more within 20%. "
        "It holds in 93.6% of 512 draws of 2 uncertain inputs (seed 1)."
    )


def test_a_no_that_turns_into_a_yes() -> None:
    assert "the verdict turns if users are 12.5% less: hbm then TIGHT." in sentences(
        Turn("users", -0.125, "tight", "hbm", None)
    )


def test_nothing_turns_it() -> None:
    assert sentences(holds=1.0) == (
        "no single input that is 20% off turns the verdict. "
        "It holds in 100% of 512 draws of 2 uncertain inputs (seed 1)."
    )
    assert sentences(holds=None) == "the verdict does not rest on an uncertain figure."
