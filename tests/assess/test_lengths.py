"""Sequences of many lengths: the expected load for the pool, the longest for the single request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kvplan
from kvplan.errors import InputError

SPREAD = "p50=4k,p95=32k,max=128k"


def fit(**words: Any) -> Any:
    asked = {"model": "llama3-70b", "host": "h100-server", "gpus": 4, "context": SPREAD, "users": 64, **words}
    return kvplan.fit(**asked).to_json()


def row(answer: Any, strategy: str) -> Any:
    return next(item for item in answer["strategies"] if item["id"] == strategy)


def test_the_pool_holds_the_expected_load() -> None:
    """64 users of 128k are 20 times of what 64 users of this mix are."""
    spread, longest = fit(), fit(context="128k")
    assert row(longest, "kv-fp8")["outcome"] == "no" and row(spread, "kv-fp8")["outcome"] == "fits"
    mean = spread["workload"]["lengths"]["mean_tokens"]
    same = fit(context=str(round(mean["best"])))
    for budget in ("hbm", "dram_capacity"):
        used = row(spread, "hbm")["budgets"][budget]["used"]["best"]
        assert used == pytest.approx(row(same, "hbm")["budgets"][budget]["used"]["best"], rel=1e-3)
    assert row(spread, "kv-fp8")["itl_s"]["best"] == pytest.approx(row(same, "kv-fp8")["itl_s"]["best"], rel=1e-3)
    assert row(spread, "kv-fp8")["users_max"]["low"] < row(same, "kv-fp8")["users_max"]["low"]


def test_both_answers_are_said() -> None:
    answer = fit()
    assert answer["workload"]["context_tokens"] == 131072
    assert row(answer, "hbm")["longest_request"]["outcome"] == "fits"
    assert "the longest request, 131,072 tokens, has room too" in answer["verdict"]["sentence"]
    assert row(fit(context="128k"), "hbm")["longest_request"] is None


def test_a_longest_request_without_room_is_a_no() -> None:
    """Two users of 2k on average are nothing; one of 128k alone is 40 GiB of KV."""
    answer = fit(model="llama3-8b", host="rtx4090", gpus=1, context="p50=1k,p95=2k,max=128k", users=2)
    hbm = row(answer, "hbm")
    assert (hbm["outcome"], hbm["bound_by"]) == ("no", "hbm")
    assert "the longest request, 131,072 tokens, needs" in hbm["reason"]
    assert hbm["budgets"]["hbm"]["used"]["best"] < hbm["budgets"]["hbm"]["limit"]


def test_the_longest_alone_is_that_of_one_user() -> None:
    alone = row(fit(), "hbm")["longest_request"]["hbm_bytes"]["best"]
    assert alone == pytest.approx(row(fit(context="128k", users=1), "hbm")["budgets"]["hbm"]["used"]["best"], rel=1e-6)


def test_slots_that_are_not_paged_hold_the_longest() -> None:
    words = {"model": "llama3-8b", "host": "rtx4090", "gpus": 1, "engine": "llama.cpp", "weights": "q4_k_m", "users": 2}
    spread = row(fit(**words, context="p50=1k,p95=4k,max=16k"), "hbm")
    whole = row(fit(**words, context="16k"), "hbm")
    assert spread["budgets"]["hbm"]["used"] == whole["budgets"]["hbm"]["used"]


def test_a_trace_gives_lengths_and_outputs(tmp_path: Path) -> None:
    trace = tmp_path / "requests.jsonl"
    lines = [f'{{"input_length": {1000 * size}, "output_length": 100}}' for size in range(1, 9)]
    trace.write_text("\n".join(lines))
    workload = fit(context=str(trace))["workload"]
    assert workload["context_tokens"] == 8100 and workload["output_tokens"] == 100
    assert workload["lengths"]["mean_tokens"]["best"] == pytest.approx(4550)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("p50=4k,p95=32k", "states no max"),
        ("p50=32k,p95=4k,max=128k", "below a lower quantile"),
        ("p50=4k,max=2k", "max=2048 is below a lower quantile of 4096"),
        ("p50=,max=2k", "p50 must look like"),
        ("q50=4k,max=8k", "no quantile 'q50'"),
        ("p0=4k,max=8k", "no quantile 'p0'"),
        ("p100.5=4k,max=8k", "no quantile"),
        ("mean=9k,max=8k", "mean=9216 is above max=8192"),
        ("no-such-file.csv", "can't be read"),
        ("no-such-file.json", "can't be read"),
        ("p50=4k,p95=32k,max=128k,mean=1k", r"mean=1024 can't be: with these quantiles it is from 3483 to 23347"),
        ("p50=4k,p95=32k,max=128k,mean=100k", "mean=102400 can't be"),
        ("p50=4k,p50=8k,max=32k", "states p50 twice"),
        ("p50=4k,P50.0=4k,max=32k", "states p50 twice"),
        ("p50=4k,p100=8k,max=32k", "states max twice"),
        ("mean=2k,mean=4k,max=32k", "states mean twice"),
    ],
)
def test_what_is_no_distribution_is_one_line(context: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(context=context)


def test_output_leaves_room_for_a_prompt() -> None:
    """The mean of this mix is 8,579 tokens, of which 8,000 may be output."""
    assert fit(output_tokens="8000")["workload"]["output_tokens"] == 8000
    with pytest.raises(InputError, match="--output-tokens 20000: the sequences of --context have 8,579 tokens"):
        fit(output_tokens="20000")


def test_a_trace_under_the_name_of_json(tmp_path: Path) -> None:
    trace = tmp_path / "requests.json"
    trace.write_text('{"input_length": 100, "output_length": 50}\n{"input_length": 4000, "output_length": 10}\n')
    assert fit(context=str(trace))["workload"]["context_tokens"] == 4010
