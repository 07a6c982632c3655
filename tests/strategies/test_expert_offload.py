"""``expert-offload``: what leaves the GPU, the flags that say so, and where it makes no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment, StrategyAssessment

GIB = 2**30


def assessed(*strategies: str, **words: Any) -> Assessment:
    given = {"model": "gpt-oss-120b", "host": "rtx4090", "engine": "llama.cpp", "context": 8192, **words}
    return assess(resolve(Words(**given)), strategies)


def judged(**words: Any) -> StrategyAssessment:
    return assessed("expert-offload", **words).strategies[0]


def part(item: StrategyAssessment, budget: str, name: str) -> float:
    return sum(one.value for one in item.budgets[budget].parts if one.name == name)


def test_experts_leave_until_the_rest_fits_and_the_flag_counts_whole_layers() -> None:
    """gpt-oss-120b: 36 layers of 128 experts of 3 x 2880 x 2880 elements, 4.25 bits each; people take 24 to 28."""
    item = judged()
    layer_bytes = 128 * 3 * 2880 * 2880 * 4.25 / 8
    layers = part(item, "dram_capacity", "weights") / layer_bytes
    assert 24 < layers < 28
    asked = int(str(item.flags).partition("-ncmoe ")[2].split()[0])
    assert math.ceil(layers) <= asked <= 28, "the command makes room for the pessimistic end"
    assert item.budgets["hbm"].load == pytest.approx(0.95)
    assert item.accuracy.high == 0.0


def test_it_is_faster_than_other_weights_in_host_memory() -> None:
    """A step reads the chosen experts of the spilled layers, not the attention of layers that were taken whole."""
    experts, weights = assessed("expert-offload", "weight-offload").strategies
    assert experts.itl_s is not None
    assert weights.itl_s is not None
    assert experts.itl_s.best < 0.8 * weights.itl_s.best


def test_more_users_choose_more_of_the_experts() -> None:
    one, many = judged(users=1), judged(users=16)
    assert part(many, "cpu_cores", "attention") > 8 * part(one, "cpu_cores", "attention")


def test_at_least_one_layer_leaves() -> None:
    item = judged(host="h100-server", gpus=1, context=1024)
    assert "-ncmoe 2" in str(item.flags), "one at the best estimate, two at the pessimistic end"
    whole = assessed("hbm", host="h100-server", gpus=1, context=1024).strategies[0]
    assert item.itl_s is not None
    assert whole.itl_s is not None
    assert item.itl_s.best > whole.itl_s.best, "so that it never ties with hbm"


def test_the_verdict_takes_it_where_weights_have_no_room() -> None:
    verdict = assessed(itl_ms=120).verdict
    assert (verdict.outcome, verdict.strategy) == ("fits", "expert-offload")
    assert assessed(host="h100-server", gpus=1).verdict.strategy == "hbm"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ({"model": "deepseek-v3", "weights": "q4_k_m", "dram_gib": 1024}, ("-ncmoe 61",)),
        ({"engine": "llama.cpp@b6000"}, ("-ot 'blk\\.(0|1|2|", ")\\.ffn_.*_exps\\.=CPU'")),
        ({"engine": "vllm"}, ("--cpu-offload-gb ", "--cpu-offload-params w13_weight w2_weight")),
        ({"engine": "sglang"}, ("--kt-method MXFP4", "--kt-num-gpu-experts ", "--kt-cpuinfer 13")),
        ({"engine": "sglang", "weights": "fp8", "dram_gib": 256}, ("--kt-method FP8",)),
    ],
)
def test_flags(words: dict[str, Any], flags: tuple[str, ...]) -> None:
    found = str(judged(**words).flags)
    for flag in flags:
        assert flag in found


@pytest.mark.parametrize("words", [{"engine": "vllm@0.16"}, {"engine": "sglang", "weights": "awq-int4"}])
def test_no_flags_where_the_engine_cannot(words: dict[str, Any]) -> None:
    assert judged(**words).flags is None


def test_vllm_reads_chosen_experts_over_the_link() -> None:
    item = judged(engine="vllm")
    assert part(item, "link", "weights") > 0.0
    assert part(item, "cpu_cores", "attention") == 0.0


def test_it_makes_no_sense_without_experts_or_a_second_pool() -> None:
    dense = judged(model="llama3-8b")
    assert (dense.outcome, dense.bound_by) == ("na", "topology")
    assert "no routed experts" in dense.reason
    assert judged(host="m3-ultra").bound_by == "unified"
    assert judged(host="epyc-genoa", model="gpt-oss-20b").outcome == "na"


def test_it_combines_with_a_smaller_cache() -> None:
    ids = {item.id for item in assessed().strategies}
    assert {"expert-offload", "kv-q8_0+expert-offload"} <= ids
    assert "expert-offload" not in {item.id for item in assessed(model="llama3-8b", weights="q4_k_m").strategies}
