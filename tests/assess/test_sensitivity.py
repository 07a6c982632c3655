"""What turns a verdict and where it holds: a flip that is known, the same draws for the same seed, a slow oracle."""

from __future__ import annotations

import math
import time
from functools import cache
from random import Random

import pytest

from kvplan.assess import assess_frame, build_frame
from kvplan.assess.frame import plan_ends
from kvplan.assess.sensitivity import (
    POINTS,
    Ground,
    changed,
    drawn_inputs,
    draws,
    fits,
    ground_of,
    holds,
    sensitivity,
    turned,
)
from kvplan.assess.uncertain import NAMED, RECORDS, PlanInput, drawn_plan, owner_of, placed_at, spreads, triangular
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import FULL, heaviest, loads
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment
from kvplan.domain.sensitivity import MOST_CHANGE_FRACTION, Sensitivity
from kvplan.strategies import all_strategies, find_strategy

CASES: dict[str, Words] = {
    "fits": Words(model="llama3-8b", host="rtx4090", context="16k", users=2),
    "one strategy": Words(
        model="llama3-8b", host="h100-server", gpus=1, context="128k", users=3, strategies=("hbm",)
    ),
    "tight": Words(model="deepseek-v3", host="h100-server", context="128k", users=2),
    "unlikely": Words(model="llama3-8b", host="m3-ultra", context="32k", users=13),
    "no": Words(model="llama3-70b", host="rtx4090"),
    "lengths": Words(model="llama3-8b", host="rtx4090", context="p50=4k,p95=16k,max=32k", users=9),
}  # fmt: skip
every_case = pytest.mark.parametrize("name", CASES)


@cache
def judged(name: str) -> tuple[Ground, Assessment, Sensitivity]:
    frame = build_frame(resolve(CASES[name]))
    assessment = assess_frame(frame, CASES[name].strategies)
    return ground_of(frame, assessment), assessment, sensitivity(frame, assessment)


def by_name(name: str) -> PlanInput:
    return next(item for item in NAMED if item.name == name)


def test_hbm_turns_it_where_its_own_sum_says() -> None:
    """All KV in HBM: the memory that may be missing is what the best estimate leaves free."""
    _, assessment, found = judged("one strategy")
    used, limit = assessment.strategies[0].budgets["hbm"].used, assessment.strategies[0].budgets["hbm"].limit
    assert used is not None and limit is not None
    turn = next(turn for turn in found.turns if turn.input == "usable GPU memory")
    assert turn.change_fraction == pytest.approx(used.best / limit - 1.0, abs=0.001)
    assert (turn.outcome, turn.strategy, turn.bound_by) == ("no", None, "hbm")


def test_kv_turns_it_where_its_own_share_says() -> None:
    """More KV: what is free of HBM, as a share of the KV."""
    _, assessment, found = judged("one strategy")
    budget = assessment.strategies[0].budgets["hbm"]
    assert budget.used is not None and budget.limit is not None
    kv = next(part.value for part in budget.parts if part.name == "kv")
    turn = next(turn for turn in found.turns if turn.input == "KV kept in GPU memory")
    assert turn.change_fraction == pytest.approx((budget.limit - budget.used.best) / kv, abs=0.001)


def test_one_user_more_or_less_is_whole() -> None:
    """Thirteen are too many; it turns at the most that any strategy has room for."""
    _, assessment, found = judged("unlikely")
    assert assessment.verdict.outcome == "unlikely"
    turn = next(turn for turn in found.turns if turn.input == "users")
    most = max(item.users_max.best for item in assessment.strategies if item.users_max)
    assert 10 < most < 13
    assert turn.change_fraction == pytest.approx(most / 13 - 1.0, abs=0.001)
    assert turn.outcome in ("fits", "tight") and turn.strategy is not None and turn.bound_by is None


@every_case
def test_the_smallest_change_comes_first_and_all_are_within_reach(name: str) -> None:
    found = judged(name)[2]
    sizes = [abs(turn.change_fraction) for turn in found.turns]
    assert sizes == sorted(sizes)
    assert all(0.0 < size <= MOST_CHANGE_FRACTION for size in sizes)
    assert len({(turn.input, turn.change_fraction > 0) for turn in found.turns}) == len(sizes)


@every_case
def test_a_change_turns_it_and_a_little_less_does_not(name: str) -> None:
    ground, _, found = judged(name)
    for turn in found.turns:
        if turn.input in ("users", "context"):
            continue
        item = next((item for item in NAMED if item.name == turn.input), None)
        if item is not None:
            assert turned(ground, item, turn.change_fraction)
            assert not turned(ground, item, turn.change_fraction - math.copysign(0.001, turn.change_fraction))


@every_case
def test_the_same_seed_gives_the_same_answer_and_another_other_draws(name: str) -> None:
    ground, assessment, found = judged(name)
    assert sensitivity(ground.frame, assessment) == found
    names = drawn_inputs(ground)
    assert draws(ground, names, 1) == draws(ground, names, 1) != draws(ground, names, 2)
    other = sensitivity(ground.frame, assessment, seed=2)
    assert found.holds_fraction is not None and other.holds_fraction is not None
    assert other.holds_fraction == pytest.approx(found.holds_fraction, abs=0.1)
    assert other.turns == found.turns


@every_case
def test_a_firm_verdict_holds_everywhere_and_a_doubtful_one_does_not(name: str) -> None:
    _, assessment, found = judged(name)
    assert found.points == POINTS == 512
    if assessment.verdict.outcome in ("fits", "no"):
        assert found.holds_fraction == 1.0
    else:
        assert found.holds_fraction is not None and 0.5 < found.holds_fraction < 1.0


def naive_plan(ends: tuple[Plan, Plan, Plan], positions: dict[str, float]) -> Plan:
    """Field by field, straight from the three plans."""
    low, best, high = ends
    records = {}
    for record in RECORDS:
        values = {}
        for field in getattr(best, record)._fields:
            three = [getattr(getattr(end, record), field) for end in (low, best, high)]
            at = positions.get(owner_of(f"{record}.{field}").name, 0.0)
            values[field] = three[1] + (-at * (three[0] - three[1]) if at < 0 else at * (three[2] - three[1]))
        records[record] = type(getattr(best, record))(**values)
    return best._replace(**records)


@pytest.mark.parametrize("name", ["fits", "tight", "unlikely", "no"])
def test_a_slow_oracle_agrees_at_every_point(name: str) -> None:
    """All strategies at every point, none left out as hopeless."""
    ground, assessment, _ = judged(name)
    workload = ground.frame.deployment.workload
    named = assessment.verdict.strategy
    ids = [named] if named else [item.id for item in assessment.strategies if item.budgets]
    every = [plan_ends(ground.frame, find_strategy(strategy_id)) for strategy_id in ids]
    inputs = sorted({spread.input for ends in every for spread in spreads(ends)})
    draw = Random(5)
    for _ in range(40):
        positions = {name: triangular(draw.random()) for name in inputs}
        works = [
            heaviest(loads(naive_plan(ends, positions), float(workload.context_tokens), float(workload.users))) <= FULL
            for ends in every
        ]
        assert holds(ground, positions) == (any(works) == (named is not None))


def test_the_ends_of_every_input_are_the_ends_of_the_plan() -> None:
    frame = build_frame(resolve(Words(model="qwen3-30b-a3b", host="h100-server", gpus=1, context="32k")))
    for strategy_id in ("hbm", "offload-retrieve", "offload-cpu-attention", "kv-fp8+offload-reuse", "expert-offload"):
        ends = plan_ends(frame, all_strategies()[strategy_id])
        varying = spreads(ends)
        assert len(varying) > 10
        for position, plan in ((-1.0, ends[0]), (0.0, ends[1]), (1.0, ends[2])):
            drawn = drawn_plan(ends[1], varying, {spread.input: position for spread in varying})
            assert [pytest.approx(tuple(getattr(plan, record))) for record in RECORDS] == [
                tuple(getattr(drawn, record)) for record in RECORDS
            ]


def test_draws_are_likeliest_at_the_best_estimate_and_even_about_it() -> None:
    positions = [triangular(step / 1000) for step in range(1000)]
    assert positions == sorted(positions)
    assert -1.0 <= positions[0] and positions[-1] < 1.0
    assert sum(positions) / 1000 == pytest.approx(0.0, abs=0.002)
    assert sum(abs(position) < 0.5 for position in positions) / 1000 == pytest.approx(0.75, abs=0.005)
    assert placed_at((1.0, 2.0, 6.0), -0.5) == 1.5 and placed_at((1.0, 2.0, 6.0), 0.5) == 4.0


def test_every_named_input_is_a_field_of_the_plan() -> None:
    plan = judged("fits")[0].candidates[0].best.plan
    for item in NAMED:
        for path in item.fields:
            record, _, field = path.partition(".")
            assert field in getattr(plan, record)._fields
    drawn = [field for item in NAMED if item.drawn for field in item.fields]
    assert len(drawn) == len(set(drawn)), "a field that two inputs move would be drawn twice"


def test_a_share_never_passes_one() -> None:
    ground = judged("fits")[0]
    point = changed(ground, ground.candidates[0], by_name("link rate at its transfer size"), 0.2)
    assert point.plan.charges.link_rate_fraction <= 1.0


def test_where_no_figure_decides_it_says_so() -> None:
    for words in (Words(model="llama3-8b", host="h100-server", context="500k"),
                  Words(model="llama3-8b", host="m3-ultra", strategies=("offload-stream",))):  # fmt: skip
        frame = build_frame(resolve(words))
        found = sensitivity(frame, assess_frame(frame, words.strategies))
        assert (found.holds_fraction, found.turns, found.points) == (None, (), 0)


def test_the_longest_request_counts_at_every_point() -> None:
    ground, assessment, found = judged("lengths")
    assert assessment.verdict.outcome == "fits" and "mean length of a sequence" in found.inputs
    small = ground.candidates[0].best
    tiny = small._replace(plan=small.plan._replace(limits=small.plan.limits._replace(hbm_bytes=1.8e10)))
    assert not fits(ground.frame, tiny)


def test_one_host_takes_less_than_a_second() -> None:
    for name in CASES:
        ground, assessment, _ = judged(name)
        start = time.perf_counter()
        sensitivity(ground.frame, assessment)
        assert time.perf_counter() - start < 5.0, "usually a twentieth of a second, a half at most"
