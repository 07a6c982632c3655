"""Means of length distributions: against public traces, against provable bounds, and against sampling."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.domain.lengths import from_quantiles, from_requests

PUBLIC = [
    # trace, p50, p95, longest, mean: prompt and output together, computed from the published files
    ("Azure 2023 code", 1493, 7331, 7841, 2076),
    ("Azure 2023 conversation", 1412, 4136, 14089, 1366),
    ("Mooncake conversation", 7255, 40052, 126527, 12378),
    ("Mooncake synthetic", 11646, 48910, 191386, 15475),
    ("ShareGPT, 300 requests", 1388, 2461, 4765, 1510),
    ("WEKA coding agents, 3 sessions", 144057, 317871, 318569, 196226),
]


@pytest.mark.parametrize(("trace", "p50", "p95", "longest", "mean"), PUBLIC)
def test_the_mean_of_a_public_trace_is_inside(trace: str, p50: int, p95: int, longest: int, mean: int) -> None:
    found = from_quantiles([(0.5, p50), (0.95, p95), (1.0, longest)])
    assert found.mean_tokens.low <= mean <= found.mean_tokens.high
    assert found.mean_tokens.high / found.mean_tokens.low < 1.7


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=5))
def test_a_mean_keeps_to_what_the_quantiles_allow(tokens: list[int]) -> None:
    tokens.sort()
    fractions = [*(index / len(tokens) for index in range(1, len(tokens))), 1.0]
    found = from_quantiles(list(zip(fractions, tokens, strict=True)))
    low, best, high = found.mean_tokens
    share = [after - before for before, after in zip([0.0, *fractions], fractions, strict=False)]
    least = sum(part * before for part, before in zip(share, [1, *tokens], strict=False))
    assert least * (1 - 1e-9) <= low <= best <= high <= tokens[-1] * (1 + 1e-9)
    assert found.deviation_tokens >= 0.0


def test_moments_equal_those_of_a_sample() -> None:
    """A log-normal that is cut at its longest, drawn a hundred thousand times."""
    draw = random.Random(7)
    middle, spread = math.log(4000.0), 0.8
    longest = int(math.exp(middle + 3.0 * spread))
    points = [(0.5, 4000), (0.841344746, int(math.exp(middle + spread))), (1.0, longest)]
    drawn = [min(draw.lognormvariate(middle, spread), longest) for _ in range(100_000)]
    mean = sum(drawn) / len(drawn)
    deviation = math.sqrt(sum((tokens - mean) ** 2 for tokens in drawn) / len(drawn))
    found = from_quantiles(points)
    assert found.mean_tokens.best == pytest.approx(mean, rel=0.01)
    assert found.deviation_tokens == pytest.approx(deviation, rel=0.03)


def test_equal_lengths_have_no_spread() -> None:
    found = from_quantiles([(0.5, 4096), (1.0, 4096)])
    assert found.mean_tokens.best == pytest.approx(4096)
    assert found.deviation_tokens < 0.1
    assert found.crowd_mean_tokens(1).high == pytest.approx(4096)


def test_a_stated_mean_is_taken() -> None:
    found = from_quantiles([(0.5, 4096), (0.95, 32768), (1.0, 131072)], mean_tokens=9000.0)
    assert found.mean_tokens == (9000.0, 9000.0, 9000.0)


def test_a_small_crowd_may_lie_further_above_the_mean() -> None:
    found = from_quantiles([(0.5, 4096), (0.95, 32768), (1.0, 131072)])
    highs = [found.crowd_mean_tokens(users).high for users in (1, 4, 16, 64, 1024)]
    assert highs == sorted(highs, reverse=True)
    assert highs[0] <= 131072 and highs[-1] > found.mean_tokens.high


def test_quantiles_of_requests_are_those_that_so_many_do_not_exceed() -> None:
    two = from_requests([(100, 50), (4000, 10)], "two requests")
    assert two.quantiles == ((0.5, 150), (0.9, 4010), (0.95, 4010), (0.99, 4010), (1.0, 4010))
    hundred = from_requests([(length, 0) for length in range(1, 101)], "a hundred requests")
    assert hundred.quantiles == ((0.5, 50), (0.9, 90), (0.95, 95), (0.99, 99), (1.0, 100))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1, max_size=20))
def test_the_mean_of_requests_is_not_above_the_longest(requests: list[tuple[int, int]]) -> None:
    found = from_requests(requests, "requests")
    assert found.mean_tokens.best <= found.longest_tokens * (1 + 1e-12)
    assert found.crowd_mean_tokens(1).low <= found.crowd_mean_tokens(1).high * (1 + 1e-12)


def test_requests_count_as_long_as_they_decode() -> None:
    """One long and one short answer to prompts of 100: at any moment the long one is nearly always there."""
    found = from_requests([(100, 1000), (100, 10)], "two requests")
    assert found.mean_tokens.best == pytest.approx((1000 * 600 + 10 * 105) / 1010)
    assert found.longest_tokens == 1100
