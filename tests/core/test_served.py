"""The rate of a closed loop: its limits, what it grows with, and an oracle that walks through one request's output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.core.prefill import prefill_arithmetic_s
from kvplan.core.served import output_token_s, running_users, tokens_per_s
from kvplan.core.shapes import Plan
from tests.core.plans import full, plan

users_of = st.integers(1, 64).map(float)
lengths = st.integers(1, 4096)


def loop(prompt: int, output: int, **fields: float) -> Plan:
    """A served plan: 2 bytes a token, a step of 10 ms and a token of prefill in 0.1 ms."""
    given_fields: dict[str, float] = {
        "step_overhead_s": 0.01, "kv_bytes_per_s": 1e6, "prefill_flops": 2e4, "active_elements": 1.0,
        "prompt_fraction": prompt / (prompt + output), "output_tokens": output, "prefill_wait_fraction": 0.8,
    }  # fmt: skip
    return plan(full(2.0), **given_fields | fields)


def step_s(served: Plan, tokens: float, users: float) -> float:
    return decode_step(served, place(served, tokens, users), tokens, users).itl_s


@given(prompt=lengths, output=st.integers(1, 256), users=users_of)
def test_it_is_what_walking_through_an_output_takes(prompt: int, output: int, users: float) -> None:
    served = loop(prompt, output)
    walked = sum(step_s(served, prompt + position, users) for position in range(1, output + 1))
    for _ in range(int(users) - 1):  # every other user is replaced once meanwhile
        walked += 0.8 * prefill_arithmetic_s(served, prompt, 0.0)
    # the middle of an output stands for all of it: half a token is the difference
    expected = pytest.approx(walked / output, rel=1e-6, abs=users * 2e-6)
    assert output_token_s(served, float(prompt + output), users) == expected


@given(prompt=lengths, output=st.integers(2, 512), users=users_of)
def test_one_user_waits_for_nobody(prompt: int, output: int, users: float) -> None:
    served = loop(prompt, output)
    context = float(prompt + output)
    assert output_token_s(served, context, 1.0) == step_s(served, context - output / 2, 1.0)
    alone = served._replace(traffic=served.traffic._replace(prefill_wait_fraction=0.0))
    assert output_token_s(alone, context, users) == step_s(served, context - output / 2, users)


@given(output=st.integers(2, 512), users=users_of)
def test_without_prompts_it_is_pure_decode(output: int, users: float) -> None:
    served = loop(0, output)
    assert output_token_s(served, float(output), users) == step_s(served, output / 2, users)


@given(prompt=lengths, output=st.integers(1, 512), users=users_of, more=st.integers(1, 2048))
def test_a_token_takes_longer_with_more_of_everything(prompt: int, output: int, users: float, more: int) -> None:
    served = loop(prompt, output)
    now = output_token_s(served, float(prompt + output), users)
    assert output_token_s(served, float(prompt + output), users + more) > now
    longer = loop(prompt + more, output)
    assert output_token_s(longer, float(prompt + more + output), users) > now


@given(prompt=lengths, output=st.integers(1, 512), users=st.integers(2, 64).map(float))
def test_no_crowd_is_served_faster_than_its_prompts(prompt: int, output: int, users: float) -> None:
    served = loop(prompt, output)
    prompts_per_s = 1.0 / (0.8 * prefill_arithmetic_s(served, prompt, 0.0))
    assert tokens_per_s(served, float(prompt + output), users) < prompts_per_s * output * users / (users - 1.0)


def test_an_unknown_output_is_pure_decode_at_full_length() -> None:
    served = loop(1000, 0)
    assert tokens_per_s(served, 1000.0, 8.0) == 8.0 / step_s(served, 1000.0, 8.0)


@given(room=st.integers(0, 20), users=users_of, replicas=st.integers(1, 4))
def test_those_who_find_no_place_queue(room: int, users: float, replicas: int) -> None:
    # a sequence of 100 tokens on average takes 200 bytes, weights take 1
    served = loop(50, 100, hbm_bytes=1.0 + 200.0 * room + 10.0, spill_to_bytes=1e30, replicas=replicas)
    running = running_users(served, 100.0, users)
    assert running == (min(users, room * replicas) if room or users == 0 else 0.0)
    rate = tokens_per_s(served, 150.0, users)
    assert rate == (0.0 if not running else running / output_token_s(served, 150.0, running))


def test_what_host_memory_serves_does_not_take_prefill() -> None:
    served = loop(1000, 100, hit_fraction=0.5, reuse=1.0)
    computed = loop(500, 100)
    waits = [output_token_s(one, length, 5.0) - step_s(one, length - 50.0, 5.0)
             for one, length in ((served, 1100.0), (computed, 600.0))]  # fmt: skip
    assert waits[0] == pytest.approx(waits[1])
