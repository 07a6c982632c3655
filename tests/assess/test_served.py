"""Tokens per second of many users against closed loops that others ran, and what the answer says of it."""

from __future__ import annotations

import pytest

from kvplan.assess import assess
from kvplan.assess.served import SPREAD, spread_rate
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import StrategyAssessment
from tests.truth_groups.served import FILE, ranked, served_groups
from tests.truth_table import lines

SERVED = [row for row in lines(FILE) if "kind" not in row]


def hbm(**words: object) -> StrategyAssessment:
    given = {"model": "llama-3.1-70b", "host": "h200-server", "gpus": 4, "tp": 4, "engine": "vllm", "weights": "fp8"}
    (found,) = assess(resolve(Words(**given | words)), ("hbm",)).strategies  # type: ignore[arg-type]
    return found


def test_the_order_of_ways_to_serve_is_right_in_nine_of_ten_pairs() -> None:
    every = ranked(SERVED)
    assert every.pairs > 400
    assert every.right >= 0.9 * every.pairs


@pytest.mark.parametrize("half", ("fitted", "held out"))
def test_the_rate_is_within_a_fifth_and_inside_its_interval(half: str) -> None:
    (group,) = (group for group in served_groups() if group.name == f"served closed loop, all, {half}")
    assert len(group.rows) > 100
    assert group.misses() == []
    assert group.quantile(0.5) < 0.15
    widths = sorted(row.predicted[2] / row.predicted[0] for row in group.rows)
    assert widths[len(widths) // 2] < 2.2


def test_a_known_output_is_a_closed_loop() -> None:
    served = hbm(users=64, prompt_tokens=8192, output_tokens=1024)
    plain = hbm(users=64, context=9216)
    assert served.itl_s == plain.itl_s, "the time per token stays that of a step at full context"
    assert plain.decode_tokens_per_s is not None and plain.itl_s is not None
    assert plain.decode_tokens_per_s.best == pytest.approx(64 / plain.itl_s.best)
    assert served.decode_tokens_per_s is not None
    assert served.decode_tokens_per_s.best < 0.7 * plain.decode_tokens_per_s.best
    assert not served.notes


def test_long_outputs_wait_less() -> None:
    rates = [hbm(users=64, prompt_tokens=1024, output_tokens=tokens).decode_tokens_per_s for tokens in (64, 256, 1024)]
    assert [rate.best for rate in rates if rate] == sorted(rate.best for rate in rates if rate)


def test_who_finds_no_place_queues_and_the_answer_says_so() -> None:
    crowd = hbm(users=2000, prompt_tokens=8192, output_tokens=1024)
    assert crowd.outcome == "no" and crowd.decode_tokens_per_s is not None
    (note,) = (note for note in crowd.notes if "queue" in note)
    running = int(note.split(" of ")[0].replace(",", ""))
    among = hbm(users=running, prompt_tokens=8192, output_tokens=1024)
    assert among.outcome in ("fits", "tight", "unlikely") or among.bound_by == "itl"
    assert among.decode_tokens_per_s is not None
    assert crowd.decode_tokens_per_s.best == among.decode_tokens_per_s.best


def test_weights_that_do_not_fit_have_no_rate() -> None:
    assert hbm(gpus=1, tp=1, weights="bf16", users=4, prompt_tokens=512, output_tokens=64).decode_tokens_per_s is None


def test_the_interval_is_a_part_of_the_way_to_its_ends() -> None:
    low, best, high = spread_rate(50.0, 100.0, 300.0)
    assert (low, best, high) == pytest.approx((100 * 0.5**SPREAD, 100.0, 100 * 3.0**SPREAD))
    assert spread_rate(0.0, 100.0, 100.0) == (0.0, 100.0, 100.0)
    assert spread_rate(120.0, 100.0, 90.0) == (100.0, 100.0, 100.0)
