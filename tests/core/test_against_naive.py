"""The core against an oracle that counts one thing at a time."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.assess.numbers import kv_growths
from kvplan.core.decode import decode_step
from kvplan.core.kv_cache import sequence_bytes
from kvplan.core.placement import place, sequences_per_replica
from kvplan.core.verdicts import most_users
from kvplan.core.weights import chosen_expert_share
from kvplan.domain.deployment import Layout
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import KvLayers, Model, WeightElements
from kvplan.engines import find_engine
from kvplan.engines.interface import MemoryPolicy, Term
from tests import naive
from tests.core.plans import full, plan

NOTHING = Term(Interval.exact(0.0), "none", "a test")
KINDS = ("full", "sliding", "latent")


@st.composite
def layer_kinds(draw: st.DrawFn) -> list[tuple[int, naive.Layer]]:
    """(how many layers, what each is)."""
    found = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)):
        window = draw(st.integers(1, 40)) if kind == "sliding" else None
        heads = 1 if kind == "latent" else draw(st.sampled_from((1, 2, 4)))
        values = 0 if kind == "latent" else draw(st.sampled_from((4, 6)))
        layer = naive.Layer(heads, draw(st.sampled_from((4, 5))), values, window, kind == "latent")
        found.append((draw(st.integers(1, 3)), layer))
    return found


def model_of(kinds: list[tuple[int, naive.Layer]]) -> Model:
    kv = tuple(
        KvLayers("any", count, item.heads, item.key_elements, item.value_elements, item.window_tokens, item.one_latent)
        for count, item in kinds
    )
    layers = sum(count for count, _ in kinds)
    return Model("tiny", "tiny", layers, 8, 4, 4, 8, 16, None, "bf16", kv, WeightElements(1, 1, 1, 0, 1), "a test")


@given(
    kinds=layer_kinds(),
    tokens=st.integers(1, 70),
    ranks=st.sampled_from((1, 2, 4)),
    element_bytes=st.sampled_from((0.5, 0.5625, 1.0, 2.0)),
    vector_bytes=st.sampled_from((0.0, 4.0)),
    block_tokens=st.sampled_from((1, 4, 16)),
    in_flight=st.integers(0, 20),
)
def test_kv_bytes_of_a_sequence(
    kinds: list[tuple[int, naive.Layer]],
    tokens: int,
    ranks: int,
    element_bytes: float,
    vector_bytes: float,
    block_tokens: int,
    in_flight: int,
) -> None:
    policy = MemoryPolicy(NOTHING, NOTHING, NOTHING, NOTHING, block_tokens, in_flight, NOTHING, 0.0, "a test")
    storage = naive.Storage(element_bytes, vector_bytes, block_tokens, in_flight)
    growth = kv_growths(model_of(kinds), KvFormat("any", element_bytes, vector_bytes), Layout(tp=ranks), policy)
    layers = [layer for count, layer in kinds for _ in range(count)]
    slow = naive.kv_bytes_of_sequence(layers, tokens, ranks, storage)
    assert sequence_bytes(growth, float(tokens)) == pytest.approx(slow, rel=1e-12)


@given(experts=st.integers(1, 5), data=st.data())
def test_share_of_experts_that_a_step_reads(experts: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(1, min(experts, 3)))
    tokens = data.draw(st.integers(0, 3))
    exact = float(naive.expected_share_of_experts(experts, chosen, tokens))
    assert chosen_expert_share(float(experts), float(chosen), float(tokens)) == pytest.approx(exact, abs=1e-14)


@given(users=st.integers(1, 40), replicas=st.integers(1, 9))
def test_sequences_on_the_fullest_replica(users: int, replicas: int) -> None:
    dealt = naive.sequences_on_fullest_replica(users, replicas)
    assert sequences_per_replica(plan(full(1.0), replicas=replicas), float(users)) == dealt


@given(
    limit=st.integers(0, 3000),
    overhead=st.integers(0, 300),
    weights=st.integers(1, 1000),
    users=st.integers(1, 8),
    tokens=st.integers(1, 300),
    layers=st.integers(1, 40),
    spills=st.sampled_from(((False, False), (True, False), (False, True))),
)
def test_placement_and_spills(
    limit: int, overhead: int, weights: int, users: int, tokens: int, layers: int, spills: tuple[bool, bool]
) -> None:
    weights_spill, kv_spills = spills
    subject = plan(
        full(1.0), hbm_bytes=limit, activation_bytes=overhead, weight_bytes=weights, layers=layers,
        spills_weights=weights_spill, spills_kv=kv_spills,
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    pool = naive.Pool(limit, overhead, weights, users * tokens, buffer_share=min(2 / layers, 0.5))
    pool.spill(weights=weights_spill, kv=kv_spills)
    assert placed.weights_spilled_bytes == pool.weights_in_dram
    assert placed.kv_spilled_bytes == pytest.approx(pool.kv_in_dram, abs=1.0)
    assert placed.hbm_kv_bytes == pytest.approx(pool.kv + pool.buffer_share * pool.kv_in_dram, abs=1.0)


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
    }


@given(
    machine=machines,
    weights=st.integers(1, 10000),
    elements=st.integers(0, 5000),
    users=st.integers(1, 8),
    tokens=st.integers(1, 300),
    limit=st.integers(10000, 12000),
    serial=st.sampled_from((0.0, 0.3, 1.0)),
)
def test_time_of_a_step(
    machine: naive.Machine, weights: int, elements: int, users: int, tokens: int, limit: int, serial: float
) -> None:
    """KV that does not fit streams over the link in every step; with 2 of 4 layers buffered, half of it stays too."""
    subject = plan(
        full(1.0), hbm_bytes=limit, weight_bytes=weights, dense_read_bytes=weights, active_elements=elements,
        layers=4, spills_kv=1, serial_fraction=serial, **fields_of(machine),
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    streamed = min(max(weights + users * tokens - limit, 0) / 0.5, users * tokens)
    work = naive.Work(weights, elements, [float(tokens)] * users, streamed, serial)
    step = decode_step(subject, placed, float(tokens), float(users))
    assert step.itl_s == pytest.approx(naive.step_s(machine, work), rel=1e-9)


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


def test_an_engine_pads_what_the_oracle_counts_exactly() -> None:
    """vLLM's own terms feed the same oracle: 16-token blocks, and a window with a batch of tokens in flight."""
    from kvplan.deployments.resolve import resolve
    from kvplan.deployments.words import Words

    deployment = resolve(Words(model="gpt-oss-20b", host="h100-server", gpus=1))
    policy = find_engine("vllm").memory_policy(deployment, 1e10)
    storage = naive.Storage(2.0, 0.0, policy.block_tokens, policy.window_reserve_tokens)
    layers = [
        naive.Layer(kind.kv_heads, kind.key_elements, kind.value_elements, kind.window_tokens, kind.replicated)
        for kind in deployment.model.kv
        for _ in range(kind.layers)
    ]
    growth = kv_growths(deployment.model, KvFormat("bf16", 2.0), deployment.layout, policy)
    for tokens in (1, 129, 2500):
        assert sequence_bytes(growth, float(tokens)) == naive.kv_bytes_of_sequence(layers, tokens, 1, storage)


def test_the_oracle_by_hand() -> None:
    """Figures that fit on a finger, so that the oracle itself is held by something."""
    eight = [naive.Layer(8, 128, 128)] * 32
    assert naive.kv_bytes_of_sequence(eight, 1, 1, naive.Storage()) == 131072  # Llama-3-8B: 128 KiB a token
    assert naive.kv_bytes_of_sequence(eight, 1, 16, naive.Storage()) == 131072 / 8  # 16 ranks: one head each
    assert naive.kv_bytes_of_sequence([naive.Layer(1, 576, 0, one_latent=True)] * 61, 1, 8, naive.Storage()) == 70272
    assert naive.kv_bytes_of_sequence([naive.Layer(1, 1, 0, window_tokens=4)], 100, 1, naive.Storage(1.0)) == 4
    assert naive.expected_share_of_experts(4, 1, 2) == naive.Fraction(7, 16)
    assert naive.blocks_for(17, 16) == 2
    assert dataclasses.asdict(naive.Pool(10, 1, 5, 8).spill(weights=False, kv=True))["kv_in_dram"] == 4
    assert math.isclose(naive.step_s(naive.Machine(10, 10, 1e9, 0.5), naive.Work(10, 0, [10.0, 10.0])), 3.5)


def test_the_oracle_is_independent() -> None:
    tree = ast.parse(Path(naive.__file__).read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in ([item.name for item in node.names] if isinstance(node, ast.Import) else
                     [node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }  # fmt: skip
    assert not any(name.startswith("kvplan") for name in imported)
