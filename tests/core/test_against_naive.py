"""The core against an oracle that counts one thing at a time."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.assess.numbers import kv_growths
from kvplan.core.demand import reuse_dram_bytes
from kvplan.core.kv_cache import in_flight_bytes, sequence_bytes
from kvplan.core.placement import place, resident_kv_bytes, sequences_per_replica
from kvplan.core.weights import chosen_expert_share, weight_read_bytes
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


class SequencesCase(NamedTuple):
    """Sequences of one length under one engine."""

    kinds: list[tuple[int, naive.Layer]]
    tokens: int
    ranks: int
    element_bytes: float
    vector_bytes: float
    block_tokens: int
    reserve: int
    chunk: int
    window_share: float
    sequences: int


@given(
    case=st.builds(
        SequencesCase,
        kinds=layer_kinds(),
        tokens=st.integers(1, 70),
        ranks=st.sampled_from((1, 2, 4)),
        element_bytes=st.sampled_from((0.5, 0.5625, 1.0, 2.0)),
        vector_bytes=st.sampled_from((0.0, 4.0)),
        block_tokens=st.sampled_from((1, 4, 16)),
        reserve=st.integers(0, 20),
        chunk=st.integers(0, 90),
        window_share=st.sampled_from((0.0, 0.0, 0.5)),
        sequences=st.integers(1, 4),
    )
)
def test_kv_bytes_of_sequences(case: SequencesCase) -> None:
    kinds, tokens, ranks, element_bytes, vector_bytes, block_tokens, reserve, chunk, window_share, sequences = case
    policy = MemoryPolicy(
        NOTHING, NOTHING, NOTHING, NOTHING, block_tokens, 1, NOTHING, (),
        window_reserve_tokens=reserve, window_in_flight_tokens=chunk, window_growth_fraction=window_share,
    )  # fmt: skip
    storage = naive.Storage(element_bytes, vector_bytes, block_tokens, reserve, chunk, window_share)
    growth = kv_growths(model_of(kinds), KvFormat("any", element_bytes, vector_bytes), Layout(tp=ranks), policy)
    layers = [layer for count, layer in kinds for _ in range(count)]
    one = naive.kv_bytes_of_sequence(layers, tokens, ranks, storage)
    assert sequence_bytes(growth, float(tokens)) == pytest.approx(one, rel=1e-12)
    in_flight = naive.kv_bytes_in_flight(layers, [tokens] * sequences, ranks, storage)
    all_of_them = resident_kv_bytes(plan(growth), float(tokens), float(sequences))
    assert all_of_them == pytest.approx(sequences * one + in_flight, rel=1e-12)


@given(experts=st.integers(1, 5), data=st.data())
def test_share_of_experts_that_a_step_reads(experts: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(1, min(experts, 3)))
    tokens = data.draw(st.integers(0, 3))
    exact = float(naive.expected_share_of_experts(experts, chosen, tokens))
    assert chosen_expert_share(float(experts), float(chosen), float(tokens)) == pytest.approx(exact, abs=1e-14)


@given(experts=st.integers(1, 4), sequences=st.integers(1, 2), groups=st.integers(1, 2), data=st.data())
def test_experts_read_by_the_tokens_of_all_replicas(
    experts: int, sequences: int, groups: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.integers(1, min(experts, 2)))
    subject = plan(
        full(1.0), dense_read_bytes=100, expert_bytes=1000, experts=experts, experts_per_token=chosen,
        expert_groups=groups,
    )  # fmt: skip
    together = sum(sequences for _ in range(groups))
    exact = 100 + 1000 * naive.expected_share_of_experts(experts, chosen, together)
    assert weight_read_bytes(subject.model, float(sequences)) == pytest.approx(float(exact), rel=1e-12)


@given(users=st.integers(1, 40), replicas=st.integers(1, 9))
def test_sequences_on_the_fullest_replica(users: int, replicas: int) -> None:
    dealt = naive.sequences_on_fullest_replica(users, replicas)
    assert sequences_per_replica(plan(full(1.0), replicas=replicas), float(users)) == dealt


class PlacementCase(NamedTuple):
    """One GPU and what it is to hold."""

    limit: int
    margin: int
    overhead: int
    weights: int
    users: int
    tokens: int
    layers: int
    stages: int
    spills: tuple[bool, bool]


@given(
    case=st.builds(
        PlacementCase,
        limit=st.integers(0, 3000),
        margin=st.integers(0, 200),
        overhead=st.integers(0, 300),
        weights=st.integers(1, 1000),
        users=st.integers(1, 8),
        tokens=st.integers(1, 300),
        layers=st.integers(1, 40),
        stages=st.sampled_from((1, 1, 2, 4)),
        spills=st.sampled_from(((False, False), (True, False), (False, True))),
    )
)
def test_placement_and_spills(case: PlacementCase) -> None:
    limit, margin, overhead, weights, users, tokens, layers, stages, spills = case
    weights_spill, kv_spills = spills
    left = max(limit - margin, 0)
    subject = plan(
        full(1.0), hbm_bytes=limit, spill_to_bytes=left, activation_bytes=overhead, weight_bytes=weights,
        layers=layers, stages=stages, spills_weights=weights_spill, spills_kv=kv_spills,
    )  # fmt: skip
    placed = place(subject, float(tokens), float(users))
    share = float(naive.buffer_share(layers, stages))
    pool = naive.Pool(left, overhead, weights, users * tokens, buffer_share=share)
    pool.spill(weights=weights_spill, kv=kv_spills)
    assert placed.weights_spilled_bytes == pool.weights_in_dram
    assert placed.kv_spilled_bytes == pytest.approx(pool.kv_in_dram, abs=1.0)
    assert placed.hbm_kv_bytes == pytest.approx(pool.kv + pool.buffer_share * pool.kv_in_dram, abs=1.0)


class IdleCase(NamedTuple):
    """Sessions and users of a deployment that reuses KV."""

    tokens: int
    block_tokens: int
    shared: int
    sessions: int
    users: int
    ranks: int
    replicas: int
    pool: int
    reuses: bool


@given(
    case=st.builds(
        IdleCase,
        tokens=st.integers(1, 300),
        block_tokens=st.sampled_from((1, 16)),
        shared=st.integers(0, 400),
        sessions=st.integers(0, 12),
        users=st.integers(1, 12),
        ranks=st.sampled_from((1, 2, 4)),
        replicas=st.sampled_from((1, 2, 3)),
        pool=st.sampled_from((0, 0, 777)),
        reuses=st.booleans(),
    )
)
def test_host_memory_of_idle_kv(case: IdleCase) -> None:
    """A pool of a given length of its own is pinned whole at start-up, and nothing beside it."""
    tokens, block_tokens, shared, sessions, users, ranks, replicas, pool, reuses = case
    subject = plan(
        full(2.0, block_tokens), gpus=ranks * replicas, replicas=replicas, idle_sessions=sessions,
        shared_prefix_tokens=shared, reuse_pool_bytes=pool, reuse=reuses,
    )  # fmt: skip
    one, prefix = (
        naive.blocks_for(length, block_tokens) * block_tokens * 2.0 for length in (tokens, min(shared, tokens))
    )
    slow = pool or naive.idle_kv_bytes(one, prefix, ranks, sessions, users)
    assert reuse_dram_bytes(subject, float(tokens), float(users)) == pytest.approx(slow if reuses else 0.0, rel=1e-12)


def test_an_engine_pads_what_the_oracle_counts_exactly() -> None:
    """vLLM's own terms feed the same oracle: 16-token blocks, and one batch of tokens in flight beside all windows."""
    from kvplan.deployments.resolve import resolve
    from kvplan.deployments.words import Words

    deployment = resolve(Words(model="gpt-oss-20b", host="h100-server", gpus=1))
    policy = find_engine("vllm").memory_policy(deployment, 1e10)
    storage = naive.Storage(2.0, 0.0, policy.block_tokens, policy.window_reserve_tokens, policy.window_in_flight_tokens)
    assert storage.chunk_tokens > 1000
    layers = [
        naive.Layer(kind.kv_heads, kind.key_elements, kind.value_elements, kind.window_tokens, kind.replicated)
        for kind in deployment.model.kv
        for _ in range(kind.layers)
    ]
    growth = kv_growths(deployment.model, KvFormat("bf16", 2.0), deployment.layout, policy)
    for tokens in (1, 129, 2500):
        assert sequence_bytes(growth, float(tokens)) == naive.kv_bytes_of_sequence(layers, tokens, 1, storage)
        for sequences in (1, 3):
            slow = naive.kv_bytes_in_flight(layers, [tokens] * sequences, 1, storage)
            assert in_flight_bytes(growth, float(tokens), float(sequences)) == slow


def test_the_oracle_by_hand() -> None:
    """Figures that fit on a finger, so that the oracle itself is held by something."""
    eight = [naive.Layer(8, 128, 128)] * 32
    assert naive.kv_bytes_of_sequence(eight, 1, 1, naive.Storage()) == 131072  # Llama-3-8B: 128 KiB a token
    assert naive.kv_bytes_of_sequence(eight, 1, 16, naive.Storage()) == 131072 / 8  # 16 ranks: one head each
    assert naive.kv_bytes_of_sequence([naive.Layer(1, 576, 0, one_latent=True)] * 61, 1, 8, naive.Storage()) == 70272
    window = [naive.Layer(1, 1, 0, window_tokens=4)]
    assert naive.kv_bytes_of_sequence(window, 100, 1, naive.Storage(1.0)) == 4
    assert naive.kv_bytes_of_sequence(window, 100, 1, naive.Storage(1.0, 0.0, 4)) == 8  # 3 of one block, 1 of the next
    assert naive.kv_bytes_of_sequence(window, 4, 1, naive.Storage(1.0, 0.0, 4)) == 4
    assert naive.kv_bytes_in_flight(window, [100, 100], 1, naive.Storage(1.0, chunk_tokens=64)) == 64
    assert (
        naive.kv_bytes_in_flight(window, [10, 10], 1, naive.Storage(1.0, chunk_tokens=64)) == 12
    )  # 6 of each beyond its window
    assert naive.buffer_share(32, 1) == naive.Fraction(1, 16)
    assert naive.buffer_share(32, 4) == naive.Fraction(1, 4)  # two of a GPU's own eight layers
    assert [naive.turns_waited(4, count) for count in (1, 2, 4, 9)] == [4, 2, 1, 1]
    assert naive.idle_kv_bytes(10.0, 3.0, 2, 1, 4) == 2 * (4 * 10 + 3)
    assert naive.expected_share_of_experts(4, 1, 2) == naive.Fraction(7, 16)
    assert naive.blocks_for(17, 16) == 2
    assert dataclasses.asdict(naive.Pool(10, 1, 5, 8).spill(weights=False, kv=True))["kv_in_dram"] == 4
    machine = naive.Machine(10, 10, 1e9, 0.5)
    assert math.isclose(naive.step_s(machine, naive.Work(10, 0, [10.0, 10.0])), 3.5)
    assert math.isclose(naive.step_s(machine, naive.Work(10, 0, [10.0], stages=2)), 4.5)  # alone: twice of everything
    assert math.isclose(naive.step_s(machine, naive.Work(10, 0, [10.0, 10.0], stages=2)), 4.5)  # the two overlap
    both = naive.Work(0, 0, [0.0], cpu_kv_bytes=6.0, cpu_weight_bytes=6.0)
    shared = naive.Machine(10, 10, 1e9, 0.0, gpus=2, cores=2, core_kv_bytes_per_s=1, core_weight_bytes_per_s=3,
                           dram_bytes_per_s=4)  # fmt: skip
    assert math.isclose(naive.step_s(shared, both), 2 * (6 / 2 + 6 / 4))
    prompt = naive.Prompt(4, known_tokens=2, kv_token_bytes=5, reload_s=1.0, chunk_tokens=1, spilled_bytes=3)
    assert math.isclose(naive.first_token_s(machine, naive.Work(10, 0, []), prompt), 0.5 + 1 + 2 * 5 + 1 + 2 * 3)


def test_the_oracle_is_independent() -> None:
    tree = ast.parse(Path(naive.__file__).read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in ([item.name for item in node.names] if isinstance(node, ast.Import) else
                     [node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }  # fmt: skip
    assert not any(name.startswith("kvplan") for name in imported)
