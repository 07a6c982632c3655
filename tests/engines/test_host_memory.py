"""What engines pin in host memory, against incidents: tests/truth/host_memory.jsonl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.assess import build_frame
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.engines.host_lines import HostPool
from kvplan.engines.host_memory import HICACHE_LEAST, pinned_bytes, rounded_up
from kvplan.units import GIB, gib
from tests.truth_groups import host_memory

ROWS = host_memory.rows()
SEEN = [row for row in ROWS if "observed_gib" in row]
JUDGED = [row for row in ROWS if "fits" in row]


def pool(**words: object) -> HostPool:
    given_words = {"model": "llama3-8b", "host": "h100-server", "gpus": 4, "tp": 4, **words}
    return build_frame(resolve(Words(**given_words))).situation.policy.host_pool  # type: ignore[arg-type]


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row["id"])
def test_host_memory_is_what_was_seen(row: dict[str, object]) -> None:
    low, best, high = host_memory.predicted_gib(row)
    observed = float(row["observed_gib"])  # type: ignore[arg-type]
    assert low * 0.995 <= observed <= high * 1.005
    assert best == pytest.approx(observed, rel=0.08)


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["id"])
def test_what_died_does_not_fit_and_what_ran_does(row: dict[str, object]) -> None:
    """Even the low end of what died is over, but for weights, whose low end is of the mildest model."""
    low, best, high = host_memory.predicted_gib(row)
    room = float(row.get("shm_gib") or row["host_gib"])  # type: ignore[arg-type]
    if row["fits"]:
        assert high < room
    else:
        assert best > room
        assert low > room or row["kind"] == "weights"


@given(buffer_bytes=st.floats(1.0, 1e13))
def test_a_pinned_buffer_is_the_next_power_of_two(buffer_bytes: float) -> None:
    taken = rounded_up(buffer_bytes)
    assert buffer_bytes <= taken < 2.0 * max(buffer_bytes, 1.0) + 1.0
    assert rounded_up(taken) == taken


@given(asked=st.floats(1e6, 1e12), more=st.floats(1.0, 3.0), ranks=st.integers(1, 8), buffers=st.integers(1, 80))
def test_more_is_never_less_pinned(asked: float, more: float, ranks: int, buffers: int) -> None:
    assert asked * (1.0 - 1e-12) <= pinned_bytes(asked, ranks, buffers) <= pinned_bytes(asked * more, ranks, buffers)


def test_vllm_rounds_until_its_region_is_in_shared_memory() -> None:
    """One buffer of 50 GiB on each of 4 ranks becomes 64; a model of 32 layers has 32 of 1.5625, which become 2."""
    before = pool(engine="vllm@0.20", kv_offloading_size=200)
    assert before.told_bytes == (gib(256), gib(256), gib(256))
    unsettled = pool(engine="vllm@0.26", kv_offloading_size=200)
    assert unsettled.told_bytes == (gib(200), gib(200), gib(256))
    after = pool(engine="vllm@0.33", kv_offloading_size=200)
    assert after.told_bytes == (gib(200), gib(200), gib(200))
    assert any("/dev/shm" in text for text in after.limits)
    assert not any("/dev/shm" in text for text in before.limits)


def test_sizes_are_for_all_ranks_of_an_engine_and_every_replica_is_one() -> None:
    """Source: the region of vLLM issue 44888 is named for its data-parallel rank."""
    one = pool(kv_offloading_size=100)
    two = pool(gpus=8, dp=2, kv_offloading_size=100)
    assert two.told_bytes.best == 2.0 * one.told_bytes.best == gib(200)
    assert pool(gpus=2, tp=2, kv_offloading_size=100).told_bytes.best == gib(100)


def test_hybrids_have_two_host_pools_in_sglang_and_one_in_vllm() -> None:
    words = {"model": "qwen3-next-80b-a3b", "kv_offloading_size": 100}
    assert pool(**words, engine="sglang").told_bytes.best == gib(200)
    assert pool(**words, engine="vllm").told_bytes.best == gib(100)
    assert pool(kv_offloading_size=100, engine="sglang").told_bytes.best == gib(100)


def test_hicache_is_never_below_the_device() -> None:
    """0.5.13: ``ratio < 1.0`` stops at start with an AssertionError."""
    free = pool(engine="sglang")
    policy = build_frame(resolve(Words(model="llama3-8b", host="h100-server", gpus=4, tp=4, engine="sglang")))
    device = policy.situation.policy.budget.bytes.best * 4
    assert 0.7 * device < free.least_bytes.best / HICACHE_LEAST < device
    assert any("does not start" in text for text in pool(engine="sglang", kv_offloading_size=100).limits)
    assert not any("does not start" in text for text in pool(engine="sglang", kv_offloading_size=400).limits)


def test_limits_of_the_system_are_said_where_they_are_not_known() -> None:
    assert any("memlock" in text for text in pool().limits)
    assert pool(engine="llama.cpp", host="rtx4090", gpus=1, tp=1, weights="q8_0").limits == ()
    assert gib(1) == GIB
