"""What kvplan promises about strategies, on real models and hosts: who wins where, and what binds the others."""

from __future__ import annotations

import pytest

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment

OFFLOADS = ("offload-reuse", "offload-stream", "offload-retrieve", "offload-cpu-attention")


def judged(**words: object) -> Assessment:
    return assess(resolve(Words(**words)))  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["m3-ultra", "m4-max", "dgx-spark", "jetson-thor", "strix-halo"])
def test_there_is_nothing_to_offload_to_on_unified_memory(host: str) -> None:
    answer = judged(model="llama3-8b", host=host, context="8k")
    for strategy in (*OFFLOADS, "weight-offload"):
        item = answer.strategy(strategy)
        assert (item.outcome, item.bound_by) == ("na", "unified")
        assert "share one pool" in item.reason
        assert item.budgets == {}
        assert item.itl_s is None


def test_a_mac_shares_one_pool_and_macos_keeps_a_part_of_it() -> None:
    memory = judged(model="llama3-8b", host="m4-max", context="8k").gpu_memory
    assert memory.total_bytes == 128 * 2**30
    assert memory.budget_bytes == pytest.approx(107.5 * 2**30, rel=0.01)  # measured on a 128 GB Mac


def test_grace_hopper_has_two_pools_and_can_offload() -> None:
    answer = judged(model="llama3-8b", host="gh200", context="128k", users=8)
    assert answer.strategy("offload-retrieve").outcome in ("fits", "tight")


@pytest.mark.parametrize(
    ("host", "engine", "strategy"),
    [
        ("rtx4090", "vllm", "kv-nvfp4"),
        ("h100-server", "vllm", "kv-nvfp4"),
        ("h100-server", "vllm", "kv-q8_0"),
        ("a100-server", "sglang", "kv-int4"),
        ("rtx4090", "llama.cpp", "kv-fp8"),
        ("m3-ultra", "llama.cpp", "kv-fp8"),
    ],
)
def test_a_format_without_a_kernel_is_a_no(host: str, engine: str, strategy: str) -> None:
    item = judged(model="llama3-8b", host=host, engine=engine, context="8k").strategy(strategy)
    assert (item.outcome, item.bound_by) == ("no", "kernel")
    assert engine in item.reason


def test_mla_has_fp8_and_no_published_retrieval() -> None:
    answer = judged(model="deepseek-v3", host="h200-server", context="32k", users=8)
    assert answer.strategy("kv-fp8").outcome == "fits"
    assert answer.strategy("kv-int4").bound_by == "kernel"
    assert answer.strategy("offload-retrieve").outcome == "unknown"


def test_a_kv_type_that_is_set_costs_what_it_costs() -> None:
    answer = judged(model="llama3-8b", host="rtx4090", context="8k", kv_cache_dtype="fp8")
    assert answer.strategy("hbm").accuracy == answer.strategy("kv-fp8").accuracy
    assert answer.strategy("hbm").kv_bytes_per_token == answer.strategy("kv-fp8").kv_bytes_per_token


def test_nvfp4_runs_on_blackwell() -> None:
    answer = judged(model="llama3-8b", host="b200-server", gpus=1, context="8k")
    assert answer.strategy("kv-nvfp4").outcome == "fits"


def test_weights_that_do_not_fit_are_said_first() -> None:
    verdict = judged(model="llama3-70b", host="rtx4090").verdict
    assert (verdict.outcome, verdict.bound_by) == ("no", "hbm")
    assert verdict.sentence.startswith("NO: the weights alone do not fit: 131.4 GiB of bf16 weights")


def test_quantized_kv_wins_on_a_lean_host() -> None:
    answer = judged(model="llama3-8b", host="h100-lean", context="128k", users=6)
    assert answer.verdict.strategy == "kv-fp8"
    assert answer.strategy("hbm").bound_by == "hbm"
    assert answer.strategy("offload-retrieve").bound_by == "cpu_cores"


def test_offload_wins_with_many_cores_and_a_very_long_context() -> None:
    answer = judged(model="llama3-8b", host="h100-server", gpus=1, context="128k", users=8)
    assert answer.verdict.strategy == "offload-retrieve"
    assert answer.strategy("kv-fp8").bound_by == "hbm"


def test_both_together_win_where_neither_alone_reaches() -> None:
    answer = judged(model="llama3-8b", host="h100-server", gpus=1, context="128k", users=90, itl_ms=100)
    winner = answer.strategy(str(answer.verdict.strategy))
    quantization, _, placement = winner.id.partition("+")
    assert placement
    assert winner.works
    assert answer.strategy(quantization).outcome == "no"
    assert answer.strategy(placement).outcome == "no"


def test_tenants_starve_a_host_of_48_cores() -> None:
    alone, crowded = (
        judged(model="llama3-8b", host="h100-server", gpus=1, cpu_cores=48, context="128k", users=8, tenants=tenants)
        for tenants in (1, 4)
    )
    assert alone.strategy("offload-retrieve").outcome == "fits"
    starved = crowded.strategy("offload-retrieve")
    assert (starved.outcome, starved.bound_by) == ("no", "cpu_cores")
    assert starved.budgets["cpu_cores"].used.best == pytest.approx(4 * 15)  # type: ignore[union-attr]
    assert starved.budgets["cpu_cores"].limit == 48


@pytest.mark.parametrize("context", ["32k", "64k", "128k"])
@pytest.mark.parametrize("users", [1, 4, 16])
def test_reuse_never_rescues_a_request_that_does_not_fit(context: str, users: int) -> None:
    answer = judged(
        model="llama3-8b", host="rtx4090", context=context, users=users,
        prefix_hit_fraction=0.9, idle_sessions=4, output_tokens=512,
    )  # fmt: skip
    resident, reuse = answer.strategy("hbm"), answer.strategy("offload-reuse")
    assert reuse.users_max.best <= resident.users_max.best  # type: ignore[union-attr]
    if resident.outcome == "no":
        assert reuse.outcome == "no"


def test_reuse_shortens_the_first_token_when_prefixes_come_back() -> None:
    answer = judged(model="llama3-8b", host="h100-server", gpus=1, context="64k", prefix_hit_fraction=0.9)
    reuse, resident = answer.strategy("offload-reuse").ttft_s, answer.strategy("hbm").ttft_s
    assert reuse is not None and resident is not None
    assert reuse.best < 0.35 * resident.best


def test_a_context_beyond_the_models_own_is_a_no() -> None:
    verdict = judged(model="llama3-8b", host="h100-server", context="256k").verdict
    assert (verdict.outcome, verdict.bound_by) == ("no", "context")
    assert "131,072" in verdict.sentence


def test_heads_that_do_not_divide_are_a_no() -> None:
    verdict = judged(model="llama3-8b", host="h100-server", gpus=6, tp=6).verdict
    assert (verdict.outcome, verdict.bound_by) == ("no", "topology")


@pytest.mark.parametrize("host", ["h100-server", "rtx4090", "gh200", "m3-ultra"])
def test_the_parts_of_a_budget_add_up(host: str) -> None:
    answer = judged(model="llama3-8b", host=host, context="32k", users=2)
    for item in answer.strategies:
        for budget in item.budgets.values():
            if budget.used is not None and budget.limit is not None:
                assert sum(part.value for part in budget.parts) == pytest.approx(budget.used.best, rel=1e-6)


def test_a_missing_input_is_unknown_and_named() -> None:
    answer = judged(model="llama3-8b", host="b300-server", gpus=1, context="32k")
    item = answer.strategy("offload-retrieve")
    assert item.outcome == "unknown"
    assert "dram" in item.reason or "cpu" in item.reason


def test_an_objective_that_cannot_be_judged_is_unknown() -> None:
    verdict = judged(model="llama3-8b", host="jetson-thor", context="4k", itl_ms=500, ttft_ms=1000).verdict
    assert verdict.outcome == "unknown"
    assert "matrix rate" in verdict.sentence


def test_settings_that_the_engine_would_refuse_are_a_no() -> None:
    short = judged(model="llama3-8b", host="h100-server", context="8k", max_model_len="4096").verdict
    assert (short.outcome, short.bound_by) == ("no", "context")
    long = judged(model="llama3-8b", host="h100-server", context="8k", max_model_len="1m").verdict
    assert (long.outcome, long.bound_by) == ("no", "context")


def test_experts_divide_over_all_ranks_or_not_at_all() -> None:
    assert judged(model="mixtral-8x7b", host="h100-server", ep=3).verdict.bound_by == "topology"
    assert judged(model="llama3-8b", host="h100-server", ep=8).verdict.bound_by == "topology"
    spread = judged(model="deepseek-v3", host="h200-server", context="32k", users=32, tp=1, dp=8, ep=8)
    weights = spread.gpu_memory.weight_bytes / 2**30
    assert 90 < weights < 110  # the dense part on every GPU, an eighth of the experts
    assert "--enable-expert-parallel" in str(spread.strategy("hbm").flags)


def test_tokens_spread_over_ranks_only_where_vllm_allows_it() -> None:
    heads = judged(model="llama3-70b", host="h100-server", tp=8, dcp=8).verdict
    assert (heads.outcome, heads.bound_by) == ("no", "topology")
    latent = judged(model="deepseek-v3", host="h200-server", context="64k", users=32, dcp=2)
    assert latent.strategy("kv-fp8").outcome in ("fits", "tight")


def test_pipeline_stages_do_not_speed_up_one_sequence() -> None:
    alone = judged(model="llama3-8b", host="h100-server", gpus=1, context="128k").strategy("hbm").itl_s
    staged = judged(model="llama3-8b", host="h100-server", context="128k", pp=4, tp=1, dp=1).strategy("hbm").itl_s
    assert alone is not None and staged is not None
    assert staged.best >= 0.99 * alone.best


def test_llama_cpp_gives_each_gpu_whole_layers() -> None:
    # 4 x L40S, Llama-3-70B F16: 198 ms a token measured
    item = judged(
        model="llama3-70b", host="l40s-4x", engine="llama.cpp", weights="fp16", context="1k", itl_ms=500
    ).strategy("hbm")  # fmt: skip
    assert item.itl_s is not None
    assert item.itl_s.low <= 0.198 <= item.itl_s.high


def test_the_first_token_waits_for_weights_in_host_memory() -> None:
    item = judged(
        model="llama3-70b", host="rtx4090", context="512", itl_ms=10000, strategies=("weight-offload",)
    ).strategy("weight-offload")  # fmt: skip
    assert item.ttft_s is not None and item.itl_s is not None
    assert item.ttft_s.best >= 0.95 * item.itl_s.best


def test_tokens_in_flight_are_held_once() -> None:
    few, many = (
        judged(model="gemma3-27b", host="h100-server", gpus=1, context="8k", users=users).strategy("hbm")
        for users in (4, 8)
    )
    added = (many.budgets["hbm"].used.best - few.budgets["hbm"].used.best) / 4 / 2**30  # type: ignore[union-attr]
    assert added == pytest.approx(0.625 + 0.41, rel=0.05)  # full layers at 8k, and windows of 1024


def test_unused_settings_are_said() -> None:
    answer = judged(model="llama3-8b", host="rtx4090", context="4k", engine="sglang", gpu_memory_utilization=0.5)
    assert any("--gpu-memory-utilization is not a setting of sglang" in text for text in answer.warnings)
