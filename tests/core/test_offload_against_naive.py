"""Experts and KV that the CPU works on where they are, against an oracle that moves them one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.shapes import Plan
from tests import naive
from tests.core.plans import full, plan
from tests.core.test_times_against_naive import fields_of, machines

EXPERTS = 4


class ExpertCase(NamedTuple):
    """A model of experts, some of which find no room."""

    machine: naive.Machine
    dense: int
    layer_bytes: int
    own_layers: int
    """Layers of experts on one GPU."""
    stages: int
    experts_per_token: int
    users: int
    tokens: int
    limit: int
    serial: float
    on_cpu: bool
    rate: float
    sync_s: float


cases = st.builds(
    ExpertCase,
    machine=machines,
    dense=st.integers(1, 1000),
    layer_bytes=st.integers(1, 500),
    own_layers=st.integers(1, 4),
    stages=st.sampled_from((1, 2)),
    experts_per_token=st.integers(1, 3),
    users=st.integers(1, 3),
    tokens=st.integers(1, 300),
    limit=st.integers(1, 3000),
    serial=st.sampled_from((0.0, 0.5, 1.0)),
    on_cpu=st.booleans(),
    rate=st.sampled_from((1.0, 0.5)),
    sync_s=st.sampled_from((0.0, 1e-4)),
)


def subject_of(case: ExpertCase, **more: float) -> Plan:
    experts = case.own_layers * case.layer_bytes
    return plan(
        full(1.0), hbm_bytes=case.limit, weight_bytes=case.dense + experts, dense_read_bytes=case.dense,
        expert_bytes=experts, experts=EXPERTS, experts_per_token=case.experts_per_token, layers=8, stages=case.stages,
        moe_layers=case.own_layers * case.stages, spills_experts=1, spilled_weights_on_cpu=case.on_cpu,
        serial_fraction=case.serial, cpu_rate_fraction=case.rate, sync_s_per_layer=case.sync_s,
        **{**fields_of(case.machine), **more},
    )  # fmt: skip


def moved_bytes(case: ExpertCase, kv_bytes: int) -> int:
    pool = naive.Pool(case.limit, 0, case.dense + case.own_layers * case.layer_bytes, kv_bytes)
    return naive.move_experts(pool, case.layer_bytes, case.own_layers)


def slower(machine: naive.Machine, rate: float) -> naive.Machine:
    """The same with a CPU that reads single experts at a share of its rates."""
    return replace(
        machine,
        core_kv_bytes_per_s=machine.core_kv_bytes_per_s * rate,
        core_weight_bytes_per_s=machine.core_weight_bytes_per_s * rate,
        kv_share_of_dram=machine.kv_share_of_dram * rate,
        weight_share_of_dram=machine.weight_share_of_dram * rate,
    )


@given(case=cases)
def test_the_step_waits_for_the_chosen_among_the_experts_that_left(case: ExpertCase) -> None:
    """The GPU waits once in every layer whose experts are elsewhere, on every stage."""
    subject = subject_of(case, itl_s=1.0)
    moved = moved_bytes(case, case.users * case.tokens)
    placed = place(subject, float(case.tokens), float(case.users))
    assert placed.weights_spilled_bytes == moved
    share = float(naive.expected_share_of_experts(EXPERTS, case.experts_per_token, case.users))
    elsewhere = share * moved
    work = naive.Work(
        case.dense + share * (case.own_layers * case.layer_bytes - moved), 0.0, [float(case.tokens)] * case.users,
        serial_fraction=case.serial, stages=case.stages, link_weight_bytes=0.0 if case.on_cpu else elsewhere,
        cpu_weight_bytes=elsewhere if case.on_cpu else 0.0,
        expert_layers=case.own_layers * case.stages,
    )  # fmt: skip
    machine = slower(case.machine, case.rate)
    waited_s = moved / case.layer_bytes * case.stages * case.sync_s
    step = decode_step(subject, placed, float(case.tokens), float(case.users))
    assert step.itl_s == pytest.approx(waited_s + naive.step_s(machine, work), rel=1e-9)
    asked = demand(subject, placed, step, float(case.tokens), float(case.users))
    busy = machine.gpus * work.cpu_weight_bytes / machine.core_weight_bytes_per_s
    assert asked.attention_cores == pytest.approx(busy, rel=1e-9)
    assert asked.dram_weight_bytes == moved * machine.gpus
    read = machine.gpus * work.cpu_weight_bytes / machine.weight_share_of_dram
    cores = asked.dram_traffic.attended_kv_bytes_per_s + asked.dram_traffic.multiplied_weight_bytes_per_s
    assert cores == pytest.approx(read, rel=1e-9)
    assert asked.link_weight_bytes_per_s == pytest.approx(work.link_weight_bytes, rel=1e-9)


@given(case=cases, chunk=st.integers(1, 3), passes=st.integers(1, 2))
def test_every_prefill_pass_copies_the_experts_that_it_chooses(case: ExpertCase, chunk: int, passes: int) -> None:
    tokens = chunk * passes
    subject = subject_of(case, prefill_chunk_tokens=chunk, prefill_flops=case.machine.flops)
    placed = place(subject, float(tokens), 1.0)
    of_all = float(naive.expected_share_of_experts(EXPERTS, case.experts_per_token, tokens))
    of_pass = float(naive.expected_share_of_experts(EXPERTS, case.experts_per_token, chunk))
    work = naive.Work(
        case.dense + of_all * case.own_layers * case.layer_bytes, 0.0, [], stages=case.stages,
        expert_layers=case.own_layers * case.stages,
    )  # fmt: skip
    spilled = of_pass * moved_bytes(case, tokens)
    prompt = naive.Prompt(tokens, chunk_tokens=chunk, spilled_bytes=spilled)
    assert ttft_s(subject, placed, float(tokens)) == pytest.approx(
        naive.first_token_s(case.machine, work, prompt), rel=1e-9
    )


class SequenceCase(NamedTuple):
    """Whole sequences, some of which find no room on the GPU."""

    machine: naive.Machine
    weights: int
    users: int
    tokens: int
    limit: int
    serial: float
    stages: int
    rate: float


@given(
    case=st.builds(
        SequenceCase,
        machine=machines,
        weights=st.integers(1, 3000),
        users=st.integers(1, 8),
        tokens=st.integers(1, 300),
        limit=st.integers(1, 4000),
        serial=st.sampled_from((0.0, 0.3, 1.0)),
        stages=st.sampled_from((1, 2, 4)),
        rate=st.sampled_from((1.0, 0.5)),
    )
)
def test_the_cpu_attends_to_kv_that_has_no_room(case: SequenceCase) -> None:
    """It is on the GPU or with the CPU: neither copied nor read twice."""
    subject = plan(
        full(1.0), hbm_bytes=case.limit, weight_bytes=case.weights, dense_read_bytes=case.weights, spills_kv=1,
        spilled_kv_on_cpu=1, serial_fraction=case.serial, stages=case.stages, cpu_rate_fraction=case.rate, itl_s=1.0,
        **fields_of(case.machine),
    )  # fmt: skip
    pool = naive.Pool(case.limit, 0, case.weights, case.users * case.tokens).spill(weights=False, kv=True)
    work = naive.Work(
        case.weights, 0.0, [pool.kv / case.users] * case.users, serial_fraction=case.serial, stages=case.stages,
        cpu_kv_bytes=float(pool.kv_in_dram),
    )  # fmt: skip
    placed = place(subject, float(case.tokens), float(case.users))
    assert placed.kv_spilled_bytes == pool.kv_in_dram
    assert placed.hbm_kv_bytes == pool.kv
    machine = slower(case.machine, case.rate)
    step = decode_step(subject, placed, float(case.tokens), float(case.users))
    assert step.itl_s == pytest.approx(naive.step_s(machine, work), rel=1e-9)
    asked = demand(subject, placed, step, float(case.tokens), float(case.users))
    assert asked.link_kv_bytes_per_s == 0.0
    busy = machine.gpus * pool.kv_in_dram / machine.core_kv_bytes_per_s
    assert asked.attention_cores == pytest.approx(busy, rel=1e-9)
