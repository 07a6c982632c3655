"""The host's ledgers as people read them: lines that add up, and what the papers say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import StrategyAssessment
from tests.truth_groups import host_memory

OFFLOADS = ("offload-reuse", "offload-stream", "offload-retrieve", "offload-cpu-attention", "weight-offload")


def judged(strategy: str, **words: Any) -> StrategyAssessment:
    given = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, **words}
    return assess(resolve(Words(**given)), (strategy,)).strategy(strategy)


def parts(item: StrategyAssessment, budget: str) -> dict[str, float]:
    return {part.name: part.value for part in item.budgets[budget].parts}


@pytest.mark.parametrize("engine", ["vllm", "vllm@0.20", "sglang", "tensorrt-llm", "llama.cpp"])
@pytest.mark.parametrize("tenants", [1, 3])
def test_lines_add_up_to_what_is_used(engine: str, tenants: int) -> None:
    words = {"engine": engine, "tenants": tenants, "users": 12, "context": "64k", "output_tokens": 256, "gpus": 4}
    seen = 0
    for strategy in OFFLOADS:
        item = judged(strategy, **words, prefix_hit_fraction=0.5, other_cpu_cores=3.0, other_dram_gib=20.0)
        for name in ("dram_capacity", "dram_bandwidth", "cpu_cores") if item.budgets else ():
            budget = item.budgets[name]
            assert budget.used is not None
            assert sum(part.value for part in budget.parts) == pytest.approx(budget.used.best, rel=1e-9, abs=1e-6)
            assert all(part.formula and part.source for part in budget.parts)
            seen += len(budget.parts)
    assert seen > 30


@pytest.mark.parametrize("strategy", OFFLOADS)
def test_tenants_never_take_less_and_never_find_more_room(strategy: str) -> None:
    """Each of up to four takes what it takes alone; fewer users fit beside them."""
    lone, *crowds = (
        judged(strategy, tenants=tenants, users=8, context="64k", output_tokens=256, prefix_hit_fraction=0.5)
        for tenants in (1, 2, 4)
    )
    for times, crowd in zip((2, 4), crowds, strict=True):
        for name in ("dram_capacity", "dram_bandwidth", "cpu_cores"):
            used, alone = crowd.budgets[name].used, lone.budgets[name].used
            assert used is not None and alone is not None
            assert used.best >= times * alone.best * (1.0 - 1e-9)
        assert crowd.users_max is not None and lone.users_max is not None
        assert crowd.users_max.best <= lone.users_max.best


def test_the_engine_is_listed_by_its_processes() -> None:
    found = parts(judged("hbm", gpus=8, tp=2), "cpu_cores")
    assert found == {"API servers": 4.0, "engine cores": 4.0, "GPU workers": 8.0, "coordinator": 1.0}


def test_a_container_limit_reduces_what_attention_gets_but_not_on_which_node() -> None:
    """h100-server has two nodes of 48 cores: 32 of them fit on the GPU's own, 96 do not."""
    whole = judged("offload-cpu-attention", users=32, context="64k")
    limited = judged("offload-cpu-attention", users=32, context="64k", cpu_cores=32)
    cramped = judged("offload-cpu-attention", users=32, context="64k", cpu_cores=6)
    assert "beyond 48 cores" in _attention_formula(whole)
    assert "beyond" not in _attention_formula(limited)
    times = [item.itl_s.best for item in (whole, limited, cramped) if item.itl_s]
    assert times == sorted(times)
    assert times[2] > 1.2 * times[1]


def _attention_formula(item: StrategyAssessment) -> str:
    return next(part.formula for part in item.budgets["cpu_cores"].parts if part.name == "attention")


def test_efficiency_cores_are_counted_at_their_worth() -> None:
    """A 13900K has 8 + 16 cores: its attention needs more of them than of 24 equal ones."""
    hybrid = judged("offload-cpu-attention", host="rtx4090-13900k", users=16, context="32k", method="magicpig")
    equal = judged("offload-cpu-attention", host="rtx4090", cpu_cores=24, dram_gib=128, users=16, context="32k",
                   method="magicpig")  # fmt: skip
    assert parts(hybrid, "cpu_cores")["attention"] > 1.3 * parts(equal, "cpu_cores")["attention"]
    assert "beyond 8 cores" in _attention_formula(hybrid)


def test_scoutattention_in_its_own_setting_needs_its_own_cores() -> None:
    """Batch 64 at 64k, 36 ms steps: 27.5 MB for a sequence and step, 49 GB/s; published with 36 cores."""
    item = judged("offload-cpu-attention", model="qwen3-14b", host="a100-server", users=64, context="64k", itl_ms=36)
    attended = parts(item, "dram_bandwidth")["cpu attention"]
    reads = attended * 0.5 * 0.7  # of one GPU's share of two sockets, half is reached
    assert reads == pytest.approx(49e9, rel=0.10)
    assert 14.0 <= parts(item, "cpu_cores")["attention"] <= 36.0


def test_four_tenants_starve_a_48_core_host() -> None:
    """RetroInfer keeps 12 cores busy for a GPU, vLLM three: four of them are more than 48."""
    words = {"host": "a100-server", "cpu_cores": 48, "users": 8, "context": "120k", "model": "llama3-8b-1048k"}
    assert judged("offload-retrieve", **words).outcome in ("fits", "tight")
    starved = judged("offload-retrieve", **words, tenants=4)
    assert (starved.outcome, starved.bound_by) == ("no", "cpu_cores")


def test_more_cores_are_worth_more_as_neo_measured() -> None:
    """A10G: 12.2, 13.3, 29.7 and 79.3 % with 4, 8, 16 and 32 cores. The low ones gain more than is predicted."""
    rows = [row for row in host_memory.rows() if row["kind"] == "gain"]
    best = [host_memory.gains(row)[1] for row in rows]
    assert best == sorted(best)
    for predicted, row in zip(best, rows, strict=True):
        assert predicted == pytest.approx(row["observed"], rel=0.15)
    assert best[3] - 1.0 > 2.0 * (best[2] - 1.0) > 4.0 * (best[1] - 1.0)


def test_weights_in_host_memory_take_what_pinned_buffers_take() -> None:
    dense = judged("weight-offload", model="llama3-70b", cpu_offload_gb=80)
    assert parts(dense, "dram_capacity")["weights"] == pytest.approx(1.16 * 80 * 2**30, rel=0.1)
    plain = judged("weight-offload", model="llama3-70b", engine="generic", cpu_offload_gb=80)
    assert parts(plain, "dram_capacity")["weights"] < parts(dense, "dram_capacity")["weights"]


def test_loading_more_than_host_memory_is_said() -> None:
    found = assess(resolve(Words(model="llama3-70b", host="h100-server", dram_gib=64)), ("hbm",)).warnings
    assert any(text.startswith("loading: the weight files (131 GiB)") for text in found)
    calm = assess(resolve(Words(model="llama3-70b", host="h100-server")), ("hbm",)).warnings
    assert not any(text.startswith("loading") for text in calm)
