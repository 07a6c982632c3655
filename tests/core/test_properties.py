"""Laws that hold for any plan: more work never takes less, doubling doubles, and nothing is negative."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.assess.numbers import kv_growths
from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.kv_cache import bounded_bytes, growing_bytes, in_flight_bytes, sequence_bytes
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.shapes import KvGrowth, Plan
from kvplan.core.verdicts import (
    FITS,
    FULL,
    NO,
    heaviest,
    heaviest_at,
    loads,
    longest_context,
    most_users,
    outcome,
    ratio,
)
from kvplan.core.weights import chosen_expert_share
from kvplan.domain.deployment import Layout
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import KvLayers, Model, WeightElements
from kvplan.engines.interface import MemoryPolicy, Term
from tests.core.inputs import make
from tests.core.plans import full, growths
from tests.core.plans import plan as plan_of

ROUNDING = 1 + 1e-9
TOKENS = st.one_of(st.integers(1, 300), st.integers(1, 2**20)).map(float)
USERS = st.one_of(st.integers(1, 20), st.integers(1, 2000)).map(float)


def possible(plan: Plan) -> Plan:
    """A drawn plan as hosts really are: something to divide by, and host memory slower than the GPU's."""
    gpu = plan.gpu._replace(
        weight_bytes_per_s=max(plan.gpu.weight_bytes_per_s, 1e11), kv_bytes_per_s=max(plan.gpu.kv_bytes_per_s, 1e11)
    )
    host = plan.host._replace(
        link_bytes_per_s=min(plan.host.link_bytes_per_s, 2e10),
        dram_bytes_per_s=min(max(plan.host.dram_bytes_per_s, 1e9), 2e10),
        core_bytes_per_s=max(plan.host.core_bytes_per_s, 1e6),
        cpu_dram_fraction=max(plan.host.cpu_dram_fraction, 0.1),
        core_weight_bytes_per_s=max(plan.host.core_weight_bytes_per_s, 1e6),
        cpu_weight_fraction=max(plan.host.cpu_weight_fraction, 0.1),
    )
    model = plan.model._replace(
        dense_read_bytes=min(plan.model.dense_read_bytes, 0.6 * plan.model.weight_bytes),
        expert_bytes=min(plan.model.expert_bytes, 0.4 * plan.model.weight_bytes),
        experts_per_token=min(plan.model.experts_per_token, plan.model.experts),
    )
    charges = plan.charges
    if charges.spills_weights:
        charges = charges._replace(spills_experts=0.0)
    # what moves out of HBM must not be hidden: no strategy moves weights and KV at once
    if charges.spills_weights or charges.spills_experts:
        serial = max(charges.serial_fraction, 0.3)
        charges = charges._replace(
            serial_fraction=serial, spills_kv=0.0, cpu_fraction=0.0, cpu_tokens=0.0, link_fraction=0.0, link_tokens=0.0
        )
    return plan._replace(gpu=gpu, host=host, model=model, charges=charges)


PLANS = st.integers(0, 2**32).map(lambda seed: possible(make(Plan, "plan", random.Random(seed))))


def hbm_bytes(plan: Plan, context: float, users: float) -> float:
    placed = place(plan, context, users)
    return plan.model.weight_bytes - placed.weights_spilled_bytes + placed.hbm_kv_bytes


@given(plan=PLANS, context=TOKENS, users=USERS, more=st.integers(1, 100))
def test_more_users_or_tokens_never_take_less_of_anything(plan: Plan, context: float, users: float, more: int) -> None:
    here = loads(plan, context, users)
    for there in (loads(plan, context, users + more), loads(plan, context + more, users)):
        for name, before, after in zip(here._fields, here, there, strict=True):
            assert after * ROUNDING >= before, name


@given(plan=PLANS, context=TOKENS, users=USERS, factor=st.floats(1, 4))
def test_hbm_grows_with_users_tokens_and_bytes(plan: Plan, context: float, users: float, factor: float) -> None:
    heavier = plan._replace(
        kv=tuple(
            growth._replace(
                bytes_per_token=growth.bytes_per_token * factor, bytes_per_sequence=growth.bytes_per_sequence * factor
            )
            for growth in plan.kv
        )
    )
    here = hbm_bytes(plan, context, users)
    assert hbm_bytes(plan, context, users + 1) * ROUNDING >= here
    assert hbm_bytes(plan, context + 1, users) * ROUNDING >= here
    assert hbm_bytes(heavier, context, users) * ROUNDING >= here


@given(plan=PLANS, context=TOKENS, users=USERS)
def test_nothing_is_negative(plan: Plan, context: float, users: float) -> None:
    placed = place(plan, context, users)
    step = decode_step(plan, placed, context, users)
    asked = demand(plan, placed, step, context, users)
    moved, asked = asked.dram_traffic, asked._replace(dram_traffic=0.0)  # type: ignore[arg-type]
    for record in (placed, step, asked, moved, loads(plan, context, users)):
        for name, value in zip(record._fields, record, strict=True):
            assert value >= -1e-3, f"{name} is below zero by more than what rounding leaves of 10^11 bytes"
    assert ttft_s(plan, placed, context) >= 0.0


@given(plan=PLANS, context=TOKENS, users=USERS)
def test_what_spills_is_there_and_leaves_the_margin_only(plan: Plan, context: float, users: float) -> None:
    placed = place(plan, context, users)
    assert placed.weights_spilled_bytes <= plan.model.weight_bytes
    told = plan.limits.offloaded_weight_bytes
    if plan.charges.spills_experts and plan.model.moe_layers:  # one layer's go wherever there is room
        told = max(told, plan.model.expert_bytes * plan.model.stages / plan.model.moe_layers)
    if placed.weights_spilled_bytes > told or placed.kv_spilled_bytes:
        limits = plan.limits
        taken = hbm_bytes(plan, context, users) + limits.activation_bytes + limits.runtime_bytes + limits.graph_bytes
        assert taken >= limits.spill_to_bytes * (1 - 1e-9), "nothing spills while there is room"


def test_attention_over_chosen_tokens_counts_tokens_and_not_blocks() -> None:
    """257 tokens are two blocks of 256. Attending to 256 of them is no less work than attending to all of 256."""
    subject = plan_of(
        full(1.0, 256.0), read_fraction=0.0, read_tokens=256, attention_flops_per_pair=1e6, decode_flops=1e9
    )
    shorter, longer = (decode_step(subject, place(subject, tokens, 1.0), tokens, 1.0) for tokens in (256.0, 257.0))
    assert longer.gpu_s >= shorter.gpu_s


def test_no_more_spills_than_there_is() -> None:
    """A prefix that eight sequences share is in HBM once, and leaves it once."""
    window = KvGrowth(1e6, 100.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    growing = KvGrowth(10.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    subject = plan_of(growths(growing, window), shared_prefix_tokens=1000, hbm_bytes=1e6, spills_kv=1)
    placed = place(subject, 1000.0, 8.0)
    assert placed.kv_spilled_bytes <= 1000 * 10.0


@given(plan=PLANS, context=TOKENS, more=st.integers(1, 2**17))
def test_most_users_is_the_edge_and_falls_with_context(plan: Plan, context: float, more: int) -> None:
    ceiling = 4096.0
    users = most_users(plan, context, ceiling)
    assert users == int(users)
    assert users == 0.0 or heaviest_at(plan, context, users) <= FULL
    assert users >= ceiling or heaviest_at(plan, context, users + 1.0) > FULL
    assert most_users(plan, context + more, ceiling) <= users


@given(plan=PLANS, users=USERS, more=st.integers(1, 100))
def test_longest_context_is_the_edge_in_blocks_and_falls_with_users(plan: Plan, users: float, more: int) -> None:
    ceiling = 131072.0
    block = plan.kv[0].block_tokens
    plan = plan._replace(kv=tuple(growth._replace(block_tokens=block) for growth in plan.kv))
    tokens = longest_context(plan, users, ceiling)
    assert tokens == 0.0 or heaviest_at(plan, tokens, users) <= FULL
    assert tokens >= ceiling or heaviest_at(plan, tokens + block, users) > FULL
    assert longest_context(plan, users + more, ceiling) <= tokens


@given(plan=PLANS, context=TOKENS)
def test_most_users_by_trying_all(plan: Plan, context: float) -> None:
    fitting = [users for users in range(1, 65) if heaviest_at(plan, context, float(users)) <= FULL]
    assert most_users(plan, context, 64.0) == float(max(fitting, default=0))


@given(plan=PLANS, context=TOKENS, factor=st.sampled_from((2.0, 0.5, 4.0)))
def test_kv_bytes_scale_with_bytes_per_token(plan: Plan, context: float, factor: float) -> None:
    scaled = tuple(growth._replace(bytes_per_token=growth.bytes_per_token * factor, bytes_per_sequence=0.0)
                   for growth in plan.kv)  # fmt: skip
    plain = tuple(growth._replace(bytes_per_sequence=0.0) for growth in plan.kv)
    assert sequence_bytes(scaled, context) == factor * sequence_bytes(plain, context)


@given(plan=PLANS, context=TOKENS)
def test_a_window_stops_growing_and_the_rest_does_not(plan: Plan, context: float) -> None:
    far = 2.0**21
    assert bounded_bytes(plan.kv, far) == bounded_bytes(plan.kv, 2 * far)
    assert bounded_bytes(plan.kv, context) <= bounded_bytes(plan.kv, far)
    if any(growth.bytes_per_token and not growth.window_tokens for growth in plan.kv):
        assert growing_bytes(plan.kv, 2 * far) == 2 * growing_bytes(plan.kv, far)


NONE = Term(Interval.exact(0.0), "none", "a test")


@given(
    layers=st.integers(1, 8),
    heads=st.sampled_from((1, 2, 8)),
    window=st.sampled_from((None, 64)),
    tokens=st.integers(1, 5000),
)
def test_double_layers_double_kv_and_half_elements_halve_it(
    layers: int, heads: int, window: int | None, tokens: int
) -> None:
    policy = MemoryPolicy(NONE, NONE, NONE, NONE, 16, 2048, NONE, (), 32, 48)

    def kv_bytes(layers: int, element_bytes: float) -> tuple[float, float]:
        kv = (KvLayers("any", layers, heads, 64, 64, window),)
        model = Model("tiny", "tiny", layers, 8, 8, 8, 8, 16, None, "bf16", kv, WeightElements(1, 1, 1, 0, 1), "a test")
        growth = kv_growths(model, KvFormat("any", element_bytes), Layout(), policy)
        return sequence_bytes(growth, float(tokens)), in_flight_bytes(growth, float(tokens), 1.0)

    one, in_flight = kv_bytes(layers, 2.0)
    assert (in_flight > 0.0) == (window is not None and tokens > 112)
    assert kv_bytes(2 * layers, 2.0) == (2 * one, 2 * in_flight)
    assert kv_bytes(layers, 1.0) == (one / 2, in_flight / 2)


LOADS = st.lists(st.floats(0, 2), min_size=7, max_size=7)


@given(low=LOADS, more=LOADS, most=LOADS, margin=st.floats(0, 0.5))
def test_outcomes_follow_the_loads(low: list[float], more: list[float], most: list[float], margin: float) -> None:
    from kvplan.core.accounts import Loads

    optimistic = Loads(*low)
    best = Loads(*(a + b for a, b in zip(optimistic, more, strict=True)))
    pessimistic = Loads(*(a + b for a, b in zip(best, most, strict=True)))
    code = outcome(optimistic, best, pessimistic, margin)
    assert (code == NO) == (heaviest(optimistic) > FULL)
    assert code != FITS or heaviest(pessimistic) <= FULL
    assert outcome(optimistic, best, pessimistic, 0.5) >= code, "a wider margin never makes it better"
    assert outcome(optimistic, optimistic, optimistic, margin) <= code, "less uncertainty never makes it worse"


@given(experts=st.integers(1, 256), tokens=st.integers(0, 500), data=st.data())
def test_more_tokens_choose_more_experts_and_never_more_than_all(
    experts: int, tokens: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.integers(1, experts))
    share = chosen_expert_share(float(experts), float(chosen), float(tokens))
    assert 0.0 <= share <= 1.0
    assert share * ROUNDING + 1e-15 >= chosen_expert_share(float(experts), float(chosen), float(max(tokens - 1, 0)))


@pytest.mark.parametrize(("used", "limit", "expected"), [(0, 0, 0), (0, 1, 0), (1, 0, 1e30), (3, 2, 1.5), (2, 2, 1)])
def test_ratio_of_nothing(used: float, limit: float, expected: float) -> None:
    assert ratio(float(used), float(limit)) == expected


def test_the_drawn_plans_are_of_every_kind() -> None:
    """A law that only ever sees plans that cannot fit would prove nothing."""
    drawn = [possible(make(Plan, "plan", random.Random(seed))) for seed in range(600)]
    room = [most_users(plan, 4096.0, 4096.0) for plan in drawn]
    assert sum(1 for users in room if 0 < users < 4096) > 60
    assert sum(1 for plan in drawn if place(plan, 4096.0, 64.0).kv_spilled_bytes) > 20
    assert sum(1 for plan in drawn if place(plan, 4096.0, 64.0).weights_spilled_bytes) > 20
