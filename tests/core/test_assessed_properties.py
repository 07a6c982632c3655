"""The same laws one floor up: whole assessments of catalog models on catalog hosts."""

from __future__ import annotations

from functools import cache

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kvplan.assess import assess, build_frame
from kvplan.assess.frame import plan_ends
from kvplan.assess.judge import find_excuse
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.core.verdicts import loads
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.strategies import find_strategy

# dense, windows, experts, MLA; servers, desktops, slow links, unified memory, no GPU
MODELS = ("llama3-8b", "llama3-70b", "gemma3-12b", "gpt-oss-20b", "qwen3-30b-a3b", "deepseek-v2-lite")
HOSTS = (
    "h100-server", "rtx4090", "rtx4090-2x", "gh200", "g4dn.xlarge", "l40s-4x", "m3-ultra", "dgx-spark", "epyc-genoa",
)  # fmt: skip
LARGEST_BLOCK_TOKENS = 256
EVERY_LAW = settings(max_examples=60, phases=(Phase.explicit, Phase.generate))
"""No shrinking: examples are made of few named choices and read well as they are."""

model = cache(load_model)
host = cache(load_host)

words = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "host": st.sampled_from(HOSTS),
        "context": st.sampled_from((1, 100, 4096, 5000, 16384, 32768)),
        "users": st.sampled_from((1, 2, 7, 8, 31, 64, 300)),
        "weights": st.sampled_from((None, None, "awq-int4")),
        "itl_ms": st.sampled_from((None, 20.0, 500.0)),
        "tenants": st.sampled_from((1, 1, 2)),
        "engine": st.sampled_from((None, None, "llama.cpp")),  # which gives every GPU some of the layers
    }
).map(lambda fields: Words(**fields))


def deployment_of(asked: Words) -> Deployment:
    found: tuple[Model, Host] = model(asked.model), host(asked.host)
    return resolve_on(asked, *found)


def assessed(asked: Words) -> Assessment:
    return assess(deployment_of(asked))


def with_figures(asked: Words) -> list[StrategyAssessment]:
    return [item for item in assessed(asked).strategies if item.users_max is not None and item.bound_by != "topology"]


@EVERY_LAW
@given(asked=words)
def test_outcome_and_most_users_agree(asked: Words) -> None:
    for item in with_figures(asked):
        assert item.users_max is not None
        low, best, high = item.users_max
        assert 0 <= low <= best <= high, item.id
        if item.outcome == "fits":
            assert asked.users <= low, item.id
        elif item.outcome == "tight":
            assert asked.users <= best, item.id
        elif item.outcome == "unlikely":
            assert best < asked.users <= high, item.id
        else:
            assert high < asked.users, item.id


@EVERY_LAW
@given(asked=words)
def test_outcome_and_longest_context_agree(asked: Words) -> None:
    """The longest context is in whole blocks: what fits may be part of the next one."""
    for item in with_figures(asked):
        assert item.context_tokens_max is not None
        low, best, high = item.context_tokens_max
        assert 0 <= low <= best <= high, item.id
        if item.outcome == "fits":
            assert int(asked.context or 1) < low + LARGEST_BLOCK_TOKENS, item.id
        elif item.outcome == "no":
            assert high < int(asked.context or 1), item.id


@EVERY_LAW
@given(asked=words)
def test_the_optimistic_end_is_never_the_heavier_one(asked: Words) -> None:
    frame = build_frame(deployment_of(asked))
    for item in assessed(asked).strategies:
        strategy = find_strategy(item.id)
        if find_excuse(frame, strategy) is not None:
            continue
        ends = plan_ends(frame, strategy)
        low, best, high = (loads(end, float(asked.context or 1), float(asked.users)) for end in ends)
        for name, first, second, third in zip(low._fields, low, best, high, strict=True):
            assert first <= second * (1 + 1e-9), (item.id, name)
            assert second <= third * (1 + 1e-9), (item.id, name)


@EVERY_LAW
@given(asked=words, more=st.sampled_from((1, 5, 100)))
def test_more_users_or_tokens_are_never_better(asked: Words, more: int) -> None:
    order = ("fits", "tight", "unlikely", "no")
    here = {item.id: item for item in with_figures(asked)}
    for change in ({"users": asked.users + more}, {"context": int(asked.context or 1) + more}):
        for item in with_figures(asked._replace(**change)):  # type: ignore[arg-type]
            before = here[item.id]
            assert order.index(item.outcome) >= order.index(before.outcome), (item.id, change)
            assert item.itl_s is None or before.itl_s is None or item.itl_s.best >= before.itl_s.best * (1 - 1e-9)
            if "users" not in change:
                assert all(new <= old for new, old in zip(item.users_max or (), before.users_max or (), strict=True))
            else:
                pairs = zip(item.context_tokens_max or (), before.context_tokens_max or (), strict=True)
                assert all(new <= old for new, old in pairs)


@EVERY_LAW
@given(asked=words)
def test_reuse_never_makes_room_for_a_user(asked: Words) -> None:
    """Idle prefixes in DRAM save prefill. A decoding user's own KV must fit in HBM all the same."""
    by_id = {item.id: item for item in assessed(asked).strategies}
    hbm, reuse = by_id["hbm"], by_id["offload-reuse"]
    if reuse.users_max is not None:
        assert reuse.users_max == hbm.users_max


@EVERY_LAW
@given(
    asked=words,
    output=st.sampled_from((1, 256)),
    idle=st.sampled_from((None, 3, 1000)),
    hit=st.sampled_from((None, 0.5, 1.0)),
)
def test_reuse_that_costs_something_carries_no_more_users(
    asked: Words, output: int, idle: int | None, hit: float | None
) -> None:
    context = max(int(asked.context or 1), 2 * output)
    busy = asked._replace(context=context, output_tokens=output, idle_sessions=idle, prefix_hit_fraction=hit)
    by_id = {item.id: item for item in assessed(busy).strategies}
    hbm, reuse = by_id["hbm"].users_max, by_id["offload-reuse"].users_max
    if reuse is not None and hbm is not None:
        assert all(with_reuse <= without for with_reuse, without in zip(reuse, hbm, strict=True))


@EVERY_LAW
@given(asked=words)
def test_no_figure_is_negative(asked: Words) -> None:
    for item in with_figures(asked):
        for budget in item.budgets.values():
            assert budget.used is None or 0 <= budget.used.low <= budget.used.best <= budget.used.high
            assert all(part.value > 0 for part in budget.parts)
        for figure in (item.itl_s, item.ttft_s, item.decode_tokens_per_s):
            assert figure is None or 0 < figure.low <= figure.best <= figure.high
