"""A sweep says at every point what a single ``fit`` says there."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module

import pytest

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.errors import InputError, KvplanError
from kvplan.grid_search import search as searching
from kvplan.grid_search.axes import MOST_AXIS_POINTS, doubling, geometric, parse_axis
from kvplan.results.sweep import COMPILING, sentence, sweep

# every outcome and most excuses: too long, tight, no kernel, one pool, no GPU, windows, MLA, experts, tensor parallel
CASES = {
    "one-gpu": Words(model="llama3-8b", host="h100-server", gpus=1),
    "eight-gpus": Words(model="llama3-70b", host="h100-server"),
    "desktop": Words(model="llama3-8b", host="rtx4090"),
    "too-large": Words(model="llama3-70b", host="rtx4090"),
    "unified": Words(model="llama3-8b", host="m3-ultra"),
    "no-gpu": Words(model="llama3-8b", host="epyc-genoa"),
    "llama-cpp": Words(model="llama3-8b", host="rtx4090", engine="llama.cpp"),
    "windows": Words(model="gpt-oss-20b", host="rtx5090", kv_cache_dtype="fp8"),
    "latent": Words(model="deepseek-v2-lite", host="l40s-4x", tenants=2),
    "requests": Words(
        model="qwen3-30b-a3b", host="gh200", output_tokens=256, idle_sessions=20, prefix_hit_fraction=0.5, ttft_ms=900
    ),
    "replicas": Words(model="llama3-8b", host="h100-server", tp=2, margin=0.2, itl_ms=15),
    "bad-layout": Words(model="llama3-8b", host="h100-server", tp=3),
    "exact-and-slow": Words(
        model="llama3-8b", host="rtx4090", itl_ms=20000, strategies=("hbm", "offload-stream", "weight-offload")
    ),
    "chosen": Words(model="llama3-8b", host="rtx4090", strategies=("kv-fp8", "offload-reuse")),
}
CONTEXTS, USERS = "1000,4k,20000,64k,128k,1m", "1,3,8,40,256,3000"
SAMPLED_POINTS = 12


@pytest.mark.parametrize("name", CASES)
def test_every_sampled_point_is_what_fit_says(name: str) -> None:
    words = CASES[name]
    frontier = sweep(words, CONTEXTS, USERS).frontier
    draw = random.Random(name)
    places = [(row, column) for row in range(len(frontier.contexts)) for column in range(len(frontier.users))]
    for row, column in draw.sample(places, SAMPLED_POINTS):
        context, users = frontier.contexts[row], frontier.users[column]
        single = assess(resolve(words._replace(context=context, users=users)), words.strategies)
        point = frontier.points[row][column]
        verdict = single.verdict
        assert (point.outcome, point.strategy, point.bound_by) == (verdict.outcome, verdict.strategy, verdict.bound_by)
        assert frontier.strategies == tuple(item.id for item in single.strategies)
        for item, judged in zip(single.strategies, frontier.rows[row], strict=True):
            assert judged.outcomes[column] == item.outcome, item.id
            assert judged.itl_s[column] == (item.itl_s.best if item.itl_s else None), item.id
        winner = next((item for item in single.strategies if item.id == verdict.strategy), None)
        assert point.itl_s == (winner.itl_s.best if winner and winner.itl_s else None)


def test_the_cases_reach_every_outcome() -> None:
    frontiers = [sweep(words, CONTEXTS, USERS).frontier for words in CASES.values()]
    points = [point for frontier in frontiers for _, _, point in frontier.each_point()]
    assert {point.outcome for point in points} >= {"fits", "tight", "unlikely", "no"}
    judged = {outcome for frontier in frontiers for rows in frontier.rows for row in rows for outcome in row.outcomes}
    assert judged >= {"fits", "tight", "unlikely", "no", "na"}
    assert {point.bound_by for point in points} >= {None, "hbm", "context", "topology", "itl"}


def test_points_beyond_the_models_limit_are_refused_as_fit_refuses_them() -> None:
    frontier = sweep(Words(model="llama3-8b", host="h100-server"), "64k:256k", "1:2").frontier
    assert [row[0].bound_by for row in frontier.points] == [None, None, "context"]
    assert {outcome for row in frontier.rows[2] for outcome in row.outcomes} <= {"no", "na", "unknown"}


def test_a_plan_that_follows_the_users_is_built_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine does so today. One that will must not be judged by the plan of another point."""
    honest = searching.plan_ends

    def by_users(frame: searching.Frame, strategy: object) -> searching.Ends:
        users = frame.deployment.workload.users
        low, best, high = honest(frame, strategy)  # type: ignore[arg-type]
        limits = best.limits._replace(activation_bytes=best.limits.activation_bytes + users * 1e9)
        return low, best._replace(limits=limits), high._replace(limits=limits)

    words = CASES["one-gpu"]
    plain = sweep(words, "4k", "1:64").frontier
    monkeypatch.setattr(searching, "plan_ends", by_users)
    monkeypatch.setattr(import_module("kvplan.assess.judge"), "plan_ends", by_users)
    heavier = sweep(words, "4k", "1:64").frontier
    assert heavier.points != plain.points
    for column, users in enumerate(heavier.users):
        single = assess(resolve(words._replace(context=4096, users=users)))
        assert heavier.points[0][column].strategy == single.verdict.strategy


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("4k:32k", (4096, 8192, 16384, 32768)),
        ("1:8", (1, 2, 4, 8)),
        ("3:20", (3, 4, 8, 16, 20)),
        ("5:7", (5, 7)),
        ("7:7", (7,)),
        ("8", (8,)),
        ("1:1000:4", (1, 10, 100, 1000)),
        ("1:3:10", (1, 2, 3)),
        ("10:20:1", (10,)),
        ("128k,4k,4096,1m", (4096, 131072, 1048576)),
        (" 4k , 8k ,", (4096, 8192)),
    ],
)
def test_axes(text: str, points: tuple[int, ...]) -> None:
    assert parse_axis(text, "--context") == points


@pytest.mark.parametrize(
    "text",
    ["", ":", "4k:", ":4k", "8k:4k", "1:2:3:4", "a:b", "0:4", "-1:4", "1.5:3", "1:4:0", ",", "1:9999:2000", "1::3"],
)
def test_what_is_no_axis_is_one_clear_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_axis(text, "--users")
    assert "--users" in caught.value.message
    assert "\n" not in caught.value.message


def test_axes_have_an_end() -> None:
    with pytest.raises(InputError, match="more than"):
        parse_axis(",".join(map(str, range(1, MOST_AXIS_POINTS + 2))), "--users")
    with pytest.raises(InputError, match="more than 100,000 points"):
        sweep(CASES["one-gpu"], "1k:64k:900", "1:4096:900")


@pytest.mark.parametrize("context", ["p50=4k,p95=32k,max=128k", "requests.csv", "Requests.JSONL", "requests.json"])
def test_a_spread_is_no_axis(context: str) -> None:
    with pytest.raises(InputError, match="a sweep takes ranges and lists of single lengths") as caught:
        sweep(CASES["desktop"], context, "1")
    assert "kvplan fit" in str(caught.value.help)


def test_grids_hold_both_ends_and_whole_numbers() -> None:
    for low, high in ((1, 1), (1, 2), (5, 1000), (4096, 2**20)):
        for axis in (doubling(low, high), geometric(low, high, 7)):
            assert (axis[0], axis[-1]) == (low, high)
            assert list(axis) == sorted(set(axis))
    ratios = [b / a for a, b in zip(geometric(4096, 2**20, 9), geometric(4096, 2**20, 9)[1:], strict=False)]
    assert max(ratios) - min(ratios) < 1e-3


def test_a_sweep_without_ranges_goes_to_the_models_limit() -> None:
    frontier = sweep(Words(model="llama3-8b", host="rtx4090")).frontier
    assert frontier.contexts == (4096, 8192, 16384, 32768, 65536, 131072)
    assert frontier.users == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    asked = Words(model="llama3-8b", host="rtx4090", prompt_tokens="24k", output_tokens="1k")
    assert sweep(asked, None, "1").frontier.contexts == (25600, 32768, 65536, 131072)


@pytest.mark.parametrize(
    ("words", "contexts", "message"),
    [
        (Words(host="rtx4090"), None, "a sweep needs a model and a host"),
        (Words(model="llama3-8b"), None, "a sweep needs a model and a host"),
        (Words(model="llama3-8b", host="rtx4090", prompt_tokens="8k"), "4k:16k", "more than --context 4096"),
        (Words(model="llama3-8b", host="rtx4090", strategies=("kv-fp9",)), "4k", "no strategy named 'kv-fp9'"),
        (Words(model="llama3-8b", host="epyc-genoa", engine="vllm"), "4k", "without a GPU"),
    ],
)
def test_what_a_sweep_refuses(words: Words, contexts: str | None, message: str) -> None:
    with pytest.raises(KvplanError, match=message):
        sweep(words, contexts, "1:2")


def test_exit_codes() -> None:
    assert sweep(CASES["one-gpu"], "4k", "1:2").exit_code == 0
    assert sweep(CASES["one-gpu"], "4k", "1,100000").exit_code == 0
    assert sweep(CASES["too-large"]._replace(strategies=("hbm",)), "4k", "1:2").exit_code == 1
    assert sweep(CASES["unified"]._replace(strategies=("offload-stream",)), "4k", "1:2").exit_code == 3


def test_compiling_is_announced_only_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvplan import compiled

    heard: list[str] = []
    for cold in (True, False):
        monkeypatch.setattr(compiled, "is_cold", lambda function, cold=cold: cold)
        sweep(CASES["one-gpu"], "4k", "1", notify=heard.append)
    assert heard == [COMPILING]


def test_the_sentence_tells_winners_and_ends() -> None:
    frontier = sweep(CASES["one-gpu"], "4k,8k", "1,2,4,8").frontier
    hbm, fp8, none = (searching.Point(*point) for point in (
        ("fits", "hbm", None, 0.01), ("tight", "kv-fp8", None, 0.02), ("no", None, "hbm", None)))  # fmt: skip
    too_long = searching.Point("no", None, "context", None)

    def told(first: list[searching.Point], second: list[searching.Point]) -> str:
        return sentence(replace(frontier, points=(tuple(first), tuple(second))))

    assert told([hbm] * 4, [hbm, fp8, fp8, none]) == (
        "At 8,192 tokens hbm wins up to 1 user, kv-fp8 up to 4, nothing beyond."
    )
    assert told([hbm] * 4, [none] * 4) == "At 4,096 tokens hbm wins up to 8 users; nothing fits past 4,096 tokens."
    assert told([hbm] * 4, [hbm] * 4) == "At 8,192 tokens hbm wins up to 8 users."
    assert told([none] * 4, [none] * 4) == "Nothing fits at any of 8 points."
    assert "the model" in told([hbm] * 4, [too_long] * 4)
    assert told([hbm, none, fp8, none], [none] * 4).startswith(
        "At 4,096 tokens hbm wins up to 1 user, nothing up to 2, kv-fp8 up to 4, nothing beyond"
    )
