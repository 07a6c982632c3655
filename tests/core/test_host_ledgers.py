"""The two ledgers of the host: cores by their worth, and what goes in and out of host memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.cpu import core_worth, cores_on_top, cpu_read_bytes_per_s
from kvplan.core.decode import cores_left, decode_step
from kvplan.core.demand import demand
from kvplan.core.dram import all_traffic_bytes_per_s, dram_traffic
from kvplan.core.placement import place, sequences_per_replica
from kvplan.core.shapes import HostRates
from tests.core.plans import full, plan


def host(full_cores: float, worth: float, cores: float = 64.0) -> HostRates:
    return HostRates(
        1e9, 1e12, cores, 2.8e9, 0.5, 8e9, 0.85, full_cores=full_cores, lesser_core_worth=worth
    )  # fmt: skip


def naive_worth(full_cores: int, worth: float, cores: int) -> float:
    """Core by core."""
    return sum(1.0 if number < full_cores else worth for number in range(cores))


@given(full_cores=st.integers(0, 64), worth=st.sampled_from((0.3, 0.4, 0.5, 1.0)), cores=st.integers(0, 128))
def test_cores_are_worth_what_they_are_one_by_one(full_cores: int, worth: float, cores: int) -> None:
    assert core_worth(host(full_cores, worth), cores) == pytest.approx(naive_worth(full_cores, worth, cores))


@given(
    full_cores=st.integers(0, 64), worth=st.sampled_from((0.3, 0.4, 1.0)), taken=st.integers(0, 80),
    needed=st.floats(0.0, 80.0),
)  # fmt: skip
def test_cores_on_top_read_what_is_needed(full_cores: int, worth: float, taken: int, needed: float) -> None:
    """And never fewer of them than full ones would do."""
    machine = host(full_cores, worth)
    found = cores_on_top(machine, taken, needed)
    assert found >= needed - 1e-9
    assert core_worth(machine, taken + found) - core_worth(machine, taken) == pytest.approx(needed, abs=1e-9)


@given(taken=st.floats(0.0, 60.0), more=st.floats(0.0, 40.0), needed=st.floats(0.0, 60.0))
def test_more_that_runs_beside_never_leaves_more(taken: float, more: float, needed: float) -> None:
    machine = host(32.0, 0.4)
    assert taken + cores_on_top(machine, taken, needed) <= taken + more + cores_on_top(machine, taken + more, needed)


def test_the_second_socket_adds_what_was_measured() -> None:
    """KTransformers: 12.2 tokens/s on two sockets of 32 cores, 8.73 on one: 1.40 x."""
    one, two = host(32.0, 0.4, 32.0), host(32.0, 0.4, 64.0)
    gain = cpu_read_bytes_per_s(two, core_worth(two, 64.0)) / cpu_read_bytes_per_s(one, core_worth(one, 32.0))
    assert gain == pytest.approx(12.2 / 8.73, rel=0.01)


@given(
    tenants=st.integers(1, 4), engine=st.floats(0.0, 8.0), others=st.floats(0.0, 16.0), lookup=st.floats(0.0, 12.0),
)  # fmt: skip
def test_tenants_never_get_more_and_a_limit_never_gives_more(
    tenants: int, engine: float, others: float, lookup: float
) -> None:
    def left(tenants: float, cores: float) -> float:
        return cores_left(
            plan(full(1.0), tenants=tenants, cpu_cores=cores, engine_cores=engine, other_cores=others,
                 lookup_cores_per_gpu=lookup, full_cores=min(cores, 24.0), lesser_core_worth=0.5)
        )  # fmt: skip

    assert left(tenants + 1, 48.0) <= left(tenants, 48.0)
    assert left(tenants, 16.0) <= left(tenants, 32.0) <= left(tenants, 48.0)


@given(
    tokens=st.integers(1, 2048).map(lambda half: 2 * half), users=st.integers(1, 8), tenants=st.integers(1, 4),
    hit=st.sampled_from((0.0, 0.5)), reuse=st.booleans(), chosen=st.sampled_from((0.0, 0.25)),
    on_cpu=st.sampled_from((0.0, 0.125)),
)  # fmt: skip
def test_what_moves_is_counted_once_and_grows_with_tenants(
    tokens: int, users: int, tenants: int, hit: float, reuse: bool, chosen: float, on_cpu: float
) -> None:
    """Fetched, attended, reloaded and written KV, each worked out by hand from one sequence's bytes."""
    subject = plan(
        full(2.0), tenants=tenants, itl_s=0.5, output_tokens=10, hit_fraction=hit, reuse=reuse, link_fraction=chosen,
        cpu_fraction=on_cpu, dram_fraction=1.0 - reuse, cpu_dram_fraction=0.5, cpu_cores=8.0, core_bytes_per_s=1e9,
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    step = decode_step(subject, placed, float(tokens), float(users))
    moved = dram_traffic(subject, placed, step, float(tokens), sequences_per_replica(subject, float(users)))
    one = 2.0 * tokens
    requests = tenants * users / (10 * 0.5)
    assert moved.fetched_kv_bytes_per_s == pytest.approx(tenants * users * chosen * one / 0.5)
    assert moved.attended_kv_bytes_per_s == pytest.approx(tenants * users * on_cpu * one / 0.5 / 0.5)
    assert moved.reloaded_kv_bytes_per_s == pytest.approx(reuse * requests * hit * one)
    decoded = tenants * users * 2.0 / 0.5 * (1.0 - reuse)  # active KV is written token by token as well
    assert moved.written_kv_bytes_per_s == pytest.approx(requests * (1.0 - hit) * one + decoded)
    assert (moved.streamed_weight_bytes_per_s, moved.multiplied_weight_bytes_per_s) == (0.0, 0.0)
    assert all_traffic_bytes_per_s(moved) == pytest.approx(sum(moved))


def test_index_and_rounding_are_lines_of_their_own() -> None:
    subject = plan(full(2.0), dram_fraction=1.0, dram_index_fraction=0.11, tenants=2, reuse=0)
    placed = place(subject, 100.0, 3.0)
    asked = demand(subject, placed, decode_step(subject, placed, 100.0, 3.0), 100.0, 3.0)
    assert asked.dram_kv_bytes == 2 * 3 * 200.0
    assert asked.dram_index_bytes == pytest.approx(0.11 * asked.dram_kv_bytes)

    spilling = plan(full(2.0), hbm_bytes=500.0, weight_bytes=1000.0, spills_weights=1, pinned_weight_factor=1.75)
    placed = place(spilling, 10.0, 1.0)
    asked = demand(spilling, placed, decode_step(spilling, placed, 10.0, 1.0), 10.0, 1.0)
    assert asked.dram_weight_bytes == 1.75 * placed.weights_spilled_bytes > 0.0
