"""The times of a step and to the first token, against an oracle that adds them up one thing at a time."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.verdicts import most_users
from tests import naive
from tests.core.plans import full, plan

machines = st.builds(
    naive.Machine,
    weight_bytes_per_s=st.floats(1e3, 1e6),
    kv_bytes_per_s=st.floats(1e3, 1e6),
    flops=st.floats(1e3, 1e7),
    overhead_s=st.floats(0, 0.01),
    link_bytes_per_s=st.floats(1e2, 1e5),
    all_reduces=st.sampled_from((0, 2, 8)),
    all_reduce_s=st.floats(0, 1e-3),
    all_reduce_bytes=st.floats(0, 1e3),
    peer_bytes_per_s=st.floats(1e4, 1e6),
    expert_layer_s=st.floats(0, 1e-3),
    first_token_s=st.floats(0, 0.05),
    gpus=st.integers(1, 4),
    cores=st.floats(1, 64),
    core_kv_bytes_per_s=st.floats(1e2, 1e4),
    core_weight_bytes_per_s=st.floats(1e2, 1e4),
    dram_bytes_per_s=st.floats(1e3, 1e5),
    kv_share_of_dram=st.floats(0.1, 1),
    weight_share_of_dram=st.floats(0.1, 1),
)


def fields_of(machine: naive.Machine) -> dict[str, float]:
    """A naive machine in the core's words."""
    return {
        "weight_bytes_per_s": machine.weight_bytes_per_s,
        "kv_bytes_per_s": machine.kv_bytes_per_s,
        "decode_flops": machine.flops,
        "step_overhead_s": machine.overhead_s,
        "link_bytes_per_s": machine.link_bytes_per_s,
        "all_reduces": machine.all_reduces,
        "all_reduce_s": machine.all_reduce_s,
        "all_reduce_bytes_per_token": machine.all_reduce_bytes if machine.all_reduces else 0.0,
        "peer_bytes_per_s": machine.peer_bytes_per_s,
        "moe_layer_s": machine.expert_layer_s,
        "first_token_s": machine.first_token_s,
        "gpus": machine.gpus,
        "cpu_cores": machine.cores,
        "core_bytes_per_s": machine.core_kv_bytes_per_s,
        "core_weight_bytes_per_s": machine.core_weight_bytes_per_s,
        "dram_bytes_per_s": machine.dram_bytes_per_s,
        "cpu_dram_fraction": machine.kv_share_of_dram,
        "cpu_weight_fraction": machine.weight_share_of_dram,
    }


class StepCase(NamedTuple):
    """A step of a pipeline whose KV may stream."""

    machine: naive.Machine
    weights: int
    elements: int
    users: int
    tokens: int
    limit: int
    serial: float
    stages: int
    pair_flops: float
    sync_s: float
    expert_layers: int


@given(
    case=st.builds(
        StepCase,
        machine=machines,
        weights=st.integers(1, 10000),
        elements=st.integers(0, 5000),
        users=st.integers(1, 8),
        tokens=st.integers(1, 300),
        limit=st.integers(10000, 12000),
        serial=st.sampled_from((0.0, 0.3, 1.0)),
        stages=st.sampled_from((1, 2, 3, 4)),
        pair_flops=st.sampled_from((0.0, 1.0, 300.0)),
        sync_s=st.sampled_from((0.0, 1e-4)),
        expert_layers=st.sampled_from((0, 3)),
    )
)
def test_time_of_a_step(case: StepCase) -> None:
    """KV that does not fit streams over the link in every step; with 2 of 4 layers buffered, half of it stays too."""
    machine, weights, elements, users, tokens, limit, serial, stages, pair_flops, sync_s, expert_layers = case
    subject = plan(
        full(1.0), hbm_bytes=limit, weight_bytes=weights, dense_read_bytes=weights, active_elements=elements,
        layers=4, spills_kv=1, serial_fraction=serial, stages=stages, attention_flops_per_pair=pair_flops,
        sync_s_per_layer=sync_s, moe_layers=expert_layers, **fields_of(machine),
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    streamed = min(max(weights + users * tokens - limit, 0) / 0.5, users * tokens)
    work = naive.Work(
        weights, elements, [float(tokens)] * users, streamed, serial, stages, [float(tokens)] * users, pair_flops,
        layers=4, sync_s=sync_s, expert_layers=expert_layers,
    )  # fmt: skip
    step = decode_step(subject, placed, float(tokens), float(users))
    assert step.itl_s == pytest.approx(naive.step_s(machine, work), rel=1e-9)


class SideCase(NamedTuple):
    """A step in which weights and KV lie in host memory."""

    machine: naive.Machine
    weights: int
    elements: int
    users: int
    tokens: int
    limit: int
    margin: int
    serial: float
    stages: int
    on_cpu: bool
    fractions: tuple[float, float, float]


@given(
    case=st.builds(
        SideCase,
        machine=machines,
        weights=st.integers(1, 3000),
        elements=st.integers(0, 5000),
        users=st.integers(1, 8),
        tokens=st.integers(1, 300),
        limit=st.integers(1, 4000),
        margin=st.integers(0, 200),
        serial=st.sampled_from((0.0, 0.3, 1.0)),
        stages=st.sampled_from((1, 2, 4)),
        on_cpu=st.booleans(),
        fractions=st.sampled_from(((1.0, 0.0, 0.0), (0.25, 0.5, 0.0), (0.25, 0.0, 0.5), (0.5, 0.125, 1.0))),
    )
)
def test_time_of_a_step_with_the_link_and_the_cpu(case: SideCase) -> None:
    """Weights that do not fit cross the link or stay with the CPU; shares of the KV do one or the other."""
    machine, weights, elements, users, tokens, limit, margin, serial, stages, on_cpu, fractions = case
    on_gpu, over_link, by_cpu = fractions
    left = max(limit - margin, 0)
    subject = plan(
        full(1.0), hbm_bytes=limit, spill_to_bytes=left, weight_bytes=weights, dense_read_bytes=weights,
        active_elements=elements, stages=stages, spills_weights=1, spilled_weights_on_cpu=on_cpu,
        serial_fraction=serial, read_fraction=on_gpu, link_fraction=over_link, cpu_fraction=by_cpu,
        **fields_of(machine),
    )  # fmt: skip
    pool = naive.Pool(left, 0, weights, users * tokens).spill(weights=True, kv=False)
    moved = float(pool.weights_in_dram)
    work = naive.Work(
        pool.weights, elements, [on_gpu * tokens] * users, over_link * tokens * users, serial, stages,
        link_weight_bytes=0.0 if on_cpu else moved, cpu_kv_bytes=by_cpu * tokens * users,
        cpu_weight_bytes=moved if on_cpu else 0.0,
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    step = decode_step(subject, placed, float(tokens), float(users))
    assert step.itl_s == pytest.approx(naive.step_s(machine, work), rel=1e-9)
    cores = demand(subject._replace(limits=subject.limits._replace(itl_s=1.0)), placed, step, tokens, users)
    slow = machine.gpus * work.cpu_kv_bytes / machine.core_kv_bytes_per_s
    slow += machine.gpus * work.cpu_weight_bytes / machine.core_weight_bytes_per_s
    assert cores.attention_cores == pytest.approx(slow, rel=1e-9)


class PromptCase(NamedTuple):
    """A prompt, parts of which are known."""

    machine: naive.Machine
    weights: int
    limit: int
    elements: int
    quarters: int
    hits: int
    shared: int
    reuses: bool
    block_tokens: int
    chunk: int
    stages: int
    pair_flops: float
    expert_layers: int


@given(
    case=st.builds(
        PromptCase,
        machine=machines,
        weights=st.integers(1, 3000),
        limit=st.integers(1, 4000),
        elements=st.integers(0, 5000),
        quarters=st.integers(1, 60),
        hits=st.integers(0, 4),
        shared=st.integers(0, 300),
        reuses=st.booleans(),
        block_tokens=st.sampled_from((1, 16)),
        chunk=st.integers(1, 100),
        stages=st.sampled_from((1, 2, 4)),
        pair_flops=st.sampled_from((0.0, 1.0, 300.0)),
        expert_layers=st.sampled_from((0, 3)),
    )
)
def test_time_to_first_token(case: PromptCase) -> None:
    """Half of the context is prompt, of which quarters are known."""
    (
        machine,
        weights,
        limit,
        elements,
        quarters,
        hits,
        shared,
        reuses,
        block_tokens,
        chunk,
        stages,
        pair_flops,
        expert_layers,
    ) = case
    tokens = 4 * quarters
    subject = plan(
        full(1.0, block_tokens), hbm_bytes=limit, weight_bytes=weights, dense_read_bytes=weights, spills_weights=1,
        active_elements=elements, stages=stages, prefill_flops_per_pair=pair_flops, moe_layers=expert_layers,
        prompt_fraction=0.5, hit_fraction=hits / 4, shared_prefix_tokens=shared, reuse=reuses, reload_fixed_s=0.25,
        prefill_chunk_tokens=chunk, prefill_factor=1.5, prefill_flops=machine.flops, **fields_of(machine),
    )  # fmt: skip
    placed = place(subject, 2.0 * tokens, 1.0)
    moved = naive.Pool(limit, 0, weights, naive.blocks_for(2 * tokens, block_tokens) * block_tokens)
    work = naive.Work(
        weights, elements, [], stages=stages, pair_flops=pair_flops, expert_layers=expert_layers
    )  # fmt: skip
    prompt = naive.Prompt(
        tokens, hits * quarters if reuses else 0, shared, 1.0, block_tokens, 0.25, chunk,
        moved.spill(weights=True, kv=False).weights_in_dram, 1.5,
    )  # fmt: skip
    assert ttft_s(subject, placed, 2.0 * tokens) == pytest.approx(naive.first_token_s(machine, work, prompt), rel=1e-9)


@given(
    machine=machines,
    weights=st.integers(1, 1000),
    elements=st.integers(0, 1000),
    tokens=st.integers(20, 300),
    limit=st.integers(1, 20000),
    objective_s=st.floats(0.001, 2.0),
)
def test_most_users(
    machine: naive.Machine, weights: int, elements: int, tokens: int, limit: int, objective_s: float
) -> None:
    subject = plan(
        full(1.0), hbm_bytes=limit, weight_bytes=weights, dense_read_bytes=weights, active_elements=elements,
        itl_s=objective_s, **fields_of(machine),
    )  # fmt: skip
    pool = naive.Pool(limit, 0, weights, 0)
    slow = naive.most_users(machine, pool, tokens, objective_s, naive.Work(weights, elements, []))
    assert most_users(subject, float(tokens), 65536.0) == slow
