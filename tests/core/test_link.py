"""The link, against an oracle that copies piece by piece and sends one byte at a time each way."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.link import achieved_bytes_per_s, kv_in_bytes_per_s, kv_out_bytes_per_s, link_s
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.reuse import intake_s
from kvplan.core.shapes import Plan
from tests.core.plans import full, plan


def copied_s(total_bytes: int, piece_bytes: int, bytes_per_s: float, copy_s: float) -> float:
    """One copy after the other, each of them with its fixed time."""
    seconds = 0.0
    for _ in range(total_bytes // piece_bytes):
        seconds += copy_s + piece_bytes / bytes_per_s
    return seconds


@given(pieces=st.integers(1, 200), piece=st.integers(1, 4096), rate=st.floats(1e3, 1e9), copy_s=st.floats(0.0, 1e-2))
def test_every_copy_takes_its_fixed_time(pieces: int, piece: int, rate: float, copy_s: float) -> None:
    total = pieces * piece
    achieved = achieved_bytes_per_s(rate, float(piece), copy_s)
    assert total / achieved == pytest.approx(copied_s(total, piece, rate, copy_s), rel=1e-9)


@pytest.mark.parametrize(
    ("kib", "gb_per_s"), [(4, 1.09), (32, 7.45), (128, 22.79), (512, 39.55), (2048, 47.7), (16384, 51.26)]
)
def test_copies_of_a_size_reach_what_vllm_published(kib: int, gb_per_s: float) -> None:
    assert achieved_bytes_per_s(52.5e9, kib * 1024.0, 3.4e-6) == pytest.approx(gb_per_s * 1e9, rel=0.12)


@given(small=st.floats(1.0, 1e8), factor=st.floats(1.0, 1e4), rate=st.floats(1e6, 1e12), copy_s=st.floats(0.0, 1e-3))
def test_larger_copies_are_never_slower_nor_faster_than_the_link(
    small: float, factor: float, rate: float, copy_s: float
) -> None:
    slow, fast = (achieved_bytes_per_s(rate, size, copy_s) for size in (small, small * factor))
    assert 0.0 < slow <= fast * (1 + 1e-12)
    assert fast <= rate * (1 + 1e-12)
    assert achieved_bytes_per_s(rate, 0.0, copy_s) == rate


def linked(**fields: float) -> Plan:
    return plan(full(1.0), link_bytes_per_s=1000.0, itl_s=1.0, **fields)


def test_kv_goes_in_copies_and_weights_do_not() -> None:
    subject = linked(copy_tokens=10.0, copy_s=0.01, link_rate_fraction=0.5, tenants=2)
    assert kv_in_bytes_per_s(subject) == pytest.approx(10.0 / (0.01 + 10.0 / 500.0))
    assert link_s(subject, 100.0, 50.0) == pytest.approx(2.0 * (10 * (0.01 + 0.02) + 0.1))


@pytest.mark.parametrize(("duplex", "extra"), [(1.0, 0.0), (0.8, 0.25), (0.5, 1.0), (0.4, 1.0)])
def test_the_quieter_direction_costs_what_it_takes_from_the_busier_one(duplex: float, extra: float) -> None:
    """10 users read 40 of 100 tokens over the link and write one new token each; then the other way round."""
    for over_link, written in ((0.4, 10.0), (0.0, 10.0)):
        subject = linked(link_fraction=over_link, dram_fraction=1.0, link_duplex_fraction=duplex)
        placed = place(subject, 100.0, 10.0)
        step = decode_step(subject, placed, 100.0, 10.0)
        asked = demand(subject, placed, step, 100.0, 10.0)
        read = over_link * 1000.0
        outward = 1.0 if written > read else extra
        assert asked.link_kv_bytes_per_s == pytest.approx(read)
        assert asked.link_written_bytes_per_s == pytest.approx(written * outward)


def test_new_prompts_are_written_at_the_rate_of_the_way_out() -> None:
    """Two requests a second, each with 60 prompt tokens of which a quarter is known; 10 tokens a second are decoded."""
    subject = linked(
        dram_fraction=1.0, output_tokens=5.0, prompt_fraction=0.6, hit_fraction=0.25, link_out_fraction=0.5,
        link_duplex_fraction=0.5,
    )  # fmt: skip
    placed = place(subject, 100.0, 10.0)
    asked = demand(subject, placed, decode_step(subject, placed, 100.0, 10.0), 100.0, 10.0)
    assert kv_out_bytes_per_s(subject) == 500.0
    assert asked.link_written_bytes_per_s == pytest.approx(2.0 * (2 * 45 + 10))
    assert asked.dram_traffic.written_kv_bytes_per_s == pytest.approx(2 * 45 + 10)
    reuse = subject._replace(charges=subject.charges._replace(dram_fraction=0.0, reuse=1.0))
    asked = demand(reuse, placed, decode_step(reuse, placed, 100.0, 10.0), 100.0, 10.0)
    assert asked.link_written_bytes_per_s == pytest.approx(2.0 * 2 * 45), "idle prefixes are those of prompts"
    assert asked.link_reload_bytes_per_s == pytest.approx(2 * 15)


def test_all_reduces_cross_both_ways_at_once() -> None:
    subject = linked(all_reduces=8, all_reduce_bytes_per_token=10.0, peer_over_link=1.0, link_duplex_fraction=0.8)
    placed = place(subject, 100.0, 3.0)
    asked = demand(subject, placed, decode_step(subject, placed, 100.0, 3.0), 100.0, 3.0)
    assert asked.link_collective_bytes_per_s == pytest.approx(30.0 / 0.8)


@pytest.mark.parametrize(("flops", "seconds"), [(1e3, 0.2), (1e6, 0.1)])
def test_prefill_waits_for_the_slower_of_computing_and_writing(flops: float, seconds: float) -> None:
    """100 tokens: 0.2 s of arithmetic or none to speak of, and 100 bytes to write at 1000 a second."""
    subject = linked(dram_fraction=1.0, active_elements=1.0, prefill_flops=flops, prefill_factor=1.0)
    assert ttft_s(subject, place(subject, 100.0, 1.0), 100.0) == pytest.approx(seconds, rel=1e-2)


@given(prompt=st.integers(1, 300), quarters=st.integers(0, 4))
def test_computing_and_reloading_add_up(prompt: int, quarters: int) -> None:
    tokens = 4.0 * prompt
    subject = linked(active_elements=5.0, prefill_flops=100.0, prefill_factor=1.0)
    known = prompt * quarters
    expected = 0.0
    for token in range(4 * prompt):
        expected += 1.0 / 1000.0 if token < known else 2.0 * 5.0 / 100.0
    assert intake_s(subject, tokens, quarters / 4) == pytest.approx(expected, rel=1e-9)
    assert math.isfinite(expected)
