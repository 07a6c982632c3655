"""Where reloading KV pays: against what was published, and against walking there one block at a time."""

from __future__ import annotations

import math

import pytest

from kvplan.assess import assess, build_frame
from kvplan.assess.break_even import (
    COST_AT_NO_HITS_FRACTION,
    first_token_s,
    hit_break_even_fraction,
    reload_break_even_tokens,
    reload_s,
)
from kvplan.assess.frame import plan_ends
from kvplan.core.answers import Ends
from kvplan.core.prefill import prefill_s
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import BreakEven
from kvplan.strategies import find_strategy

REACHED = 0.8
"""Share of a link's large-copy rate that a reload reaches here: a published achieved rate is divided by it."""


def ends(model: str, host: str, strategy: str = "offload-reuse", **words: object) -> Ends:
    frame = build_frame(resolve(Words(model=model, host=host, **words)))  # type: ignore[arg-type]
    return plan_ends(frame, find_strategy(strategy))


def found(model: str, host: str, strategy: str = "offload-reuse", **words: object) -> BreakEven:
    assessment = assess(resolve(Words(model=model, host=host, **words)), (strategy,))  # type: ignore[arg-type]
    value = assessment.strategies[0].break_even
    assert value is not None
    return value


def achieved(total_gb_per_s: float) -> str:
    """``--link`` of each of eight GPUs for a rate that all of them reach together."""
    return str(total_gb_per_s / 8 / REACHED)


def test_vllm_reloads_faster_at_every_published_length() -> None:
    """Source: vLLM blog 2026-01-08, Llama-3.1-8B on H100: 43 against 265 ms at 10k tokens, 312 against 6854 at 100k."""
    tokens = found("llama3-8b", "h100-server", gpus=1).reload_tokens
    assert tokens is not None and tokens.high < 10_000


def test_vllm_gains_throughput_between_no_hits_and_a_tenth() -> None:
    """Source: the same; 512-token prompts, thousand tokens/s: 43.5 without a connector, 42.2 at 0 %, 46.5 at 10 %."""
    hits = found("llama3-8b", "h100-server", gpus=1, context=512).hit_fraction
    assert hits is not None and 0.0 < hits.low <= hits.best <= hits.high < 0.10
    slowness = [1 / 42.2, 1 / 46.5]
    crossing = 0.10 * (slowness[0] - 1 / 43.5) / (slowness[0] - slowness[1])
    assert hits.best == pytest.approx(crossing, abs=0.01)


@pytest.mark.parametrize(("host", "enough_gb_per_s"), [("a100-server", 6.0), ("h100-server", 19.0)])
def test_mooncake_rates_are_enough_for_8k_and_a_quarter_is_not(host: str, enough_gb_per_s: float) -> None:
    """Source: Mooncake (FAST 25), 70B, prefix of 8192 on 8 x A800 and 8 x H800, at the GPUs' nominal matrix rate.

    Real prefill reaches about half of that, so that half of the rate is enough; a quarter is not.
    """
    enough = found("llama3-70b", host, link=achieved(enough_gb_per_s), context="16k").reload_tokens
    assert enough is not None and enough.high <= 8192
    quarter = found("llama3-70b", host, link=achieved(enough_gb_per_s / 4), context="16k").reload_tokens
    assert quarter is None or quarter.best > 8192


@pytest.mark.parametrize(("model", "measured"), [("llama3-70b", 2.0), ("qwen3-235b-a22b", 1.0)])
def test_kappa_crit(model: str, measured: float) -> None:
    """Cached tokens for a new one at which the link takes as long as prefill, 15 GB/s for the eight GPUs of a host.

    Source: arXiv 2601.19910, LMCache 0.3.5 on 8 x H100.
    """
    best = ends(model, "h100-server", link=achieved(15.0), context=32768)[1]
    computed_s, reloaded_s = prefill_s(best, 2048.0, 0.0) / 2048, reload_s(best, 32768.0) / 32768
    assert computed_s / reloaded_s == pytest.approx(measured, rel=0.35)  # experts: prefill within a third


@pytest.mark.parametrize(
    ("model", "host", "words"),
    [("llama3-8b", "rtx4090", {}), ("llama3-70b", "h100-server", {}), ("gemma3-27b", "h100-server", {"gpus": 1}),
     ("llama3-8b", "h100-server", {"link": "pcie3x8"})],
)  # fmt: skip
def test_as_found_by_walking_block_by_block(model: str, host: str, words: dict[str, object]) -> None:
    plan = ends(model, host, **words)[1]
    block = plan.kv[0].block_tokens
    blocks = 1
    while first_token_s(plan, blocks * block, 1.0) >= first_token_s(plan, blocks * block, 0.0):
        blocks += 1
    assert reload_break_even_tokens(plan) == blocks * block
    further = [blocks * block * factor for factor in (2, 5, 40)]
    assert all(first_token_s(plan, tokens, 1.0) < first_token_s(plan, tokens, 0.0) for tokens in further)


@pytest.mark.parametrize("link", ["4", "pcie4x16", "c2c"])
def test_hits_as_found_by_adding_up_work(link: str) -> None:
    plan = ends("llama3-8b", "h100-server", gpus=1, link=link)[1]
    computing, reloading = prefill_s(plan, 8192.0, 0.0), reload_s(plan, 8192.0)
    slowed = computing / (1.0 - COST_AT_NO_HITS_FRACTION)
    gains = [hits / 1000 for hits in range(1001) if (1 - hits / 1000) * slowed + hits / 1000 * reloading < computing]
    assert hit_break_even_fraction(plan, 8192.0) == pytest.approx(gains[0] if gains else math.inf, abs=0.001)


def test_a_faster_link_pays_earlier() -> None:
    rates = ("1", "2", "4", "8", "16", "32", "64", "200")
    tokens = [reload_break_even_tokens(ends("llama3-8b", "h100-server", gpus=1, link=rate)[1]) for rate in rates]
    assert tokens == sorted(tokens, reverse=True) and tokens[0] > 4 * tokens[-1]


def test_half_the_bytes_pay_earlier() -> None:
    words = {"gpus": 1, "link": "8"}
    whole, half = (found("llama3-8b", "h100-server", name, **words).reload_tokens
                   for name in ("offload-reuse", "kv-fp8+offload-reuse"))  # fmt: skip
    assert whole is not None and half is not None and half.best < whole.best


def test_a_link_too_slow_for_any_hit_says_so() -> None:
    value = found("llama3-8b", "h100-server", gpus=1, link="0.5", context=4096)
    assert value.hit_fraction is None
    assert value.reload_tokens is None or value.reload_tokens.best > 100_000


def test_only_strategies_that_reload_have_one() -> None:
    assessment = assess(resolve(Words(model="llama3-8b", host="h100-server", gpus=1)))
    with_one = {item.id for item in assessment.strategies if item.break_even is not None}
    assert "offload-reuse" in with_one
    assert {name.rpartition("+")[2] for name in with_one} == {"offload-reuse"}
    on_one_pool = assess(resolve(Words(model="llama3-8b", host="m3-ultra")), ("offload-reuse",))
    assert on_one_pool.strategies[0].break_even is None


@pytest.mark.parametrize(
    "model", ["llama3-8b", "llama3-70b", "gemma3-27b", "deepseek-v3", "qwen3-30b-a3b", "qwen3.5-27b"]
)
@pytest.mark.parametrize("host", ["h100-server", "rtx4090", "gh200", "b200-server", "mi300x-server"])
def test_ends_are_ordered(model: str, host: str) -> None:
    value = found(model, host, context="16k")
    for interval in value:
        if interval is not None:
            assert 0.0 < interval.low <= interval.best <= interval.high
    assert value.hit_fraction is None or value.hit_fraction.high <= 1.0
