"""The ideas that kvplan was built on must come out of its own arithmetic.

Constant GPU memory is not free: what leaves HBM comes back as threads, links and DRAM. Each test states one idea with
the figures of the paper or data sheet it is from, on whole plans as ``fit`` makes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvplan.assess import assess, build_frame
from kvplan.assess.frame import plan_ends
from kvplan.catalog.hardware import host_table, load_host
from kvplan.catalog.hardware_domain import PCIE_X16_GB_PER_S
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.results.kv import kv_of
from kvplan.strategies import find_strategy
from kvplan.units import GIB

QWEN3_14B_LONG = str(Path(__file__).parent / "truth" / "qwen3_14b_128k.config.json")
"""The catalog's Qwen3-14B ends at 40,960 tokens; ScoutAttention stretched it to 64k."""
A100 = {"model": "llama3-8b-1048k", "host": "ndm-a100-v4", "gpus": 1, "engine": "generic", "context": 120 * 1024}
SCOUT = {"model": QWEN3_14B_LONG, "host": "a100-server", "gpus": 1, "cpu_cores": 36, "context": 65536, "itl_ms": 36}


def judged(**words: Any) -> Assessment:
    return assess(resolve(Words(**words)))


def one(strategy: str, **words: Any) -> StrategyAssessment:
    return assess(resolve(Words(**words)), (strategy,)).strategy(strategy)


def tokens_per_s(strategy: str, users: int, **words: Any) -> float:
    frame = build_frame(resolve(Words(users=users, **words)))
    best, context = plan_ends(frame, find_strategy(strategy))[1], float(frame.deployment.workload.context_tokens)
    return users / decode_step(best, place(best, context, float(users)), context, float(users)).itl_s


def most_users(strategy: str, **words: Any) -> int:
    found = one(strategy, **words).users_max
    assert found is not None
    return int(found.best)


def test_retrieval_gains_at_batches_that_hbm_cannot_hold_and_nothing_at_batch_1() -> None:
    """RetroInfer at 120k on A100 80 GB: 4.4 x full attention, which ends at batch 4; slower at one or two sequences."""
    patient = {**A100, "itl_ms": 1000.0}
    fits = most_users("hbm", **patient)
    assert fits == 4
    assert one("hbm", **patient, users=32).bound_by == "hbm"
    assert one("offload-retrieve", **patient, users=32).outcome in ("fits", "tight")
    resident = tokens_per_s("hbm", fits, **A100)
    assert tokens_per_s("offload-retrieve", 32, **A100) / resident == pytest.approx(4.4, rel=0.15)
    assert tokens_per_s("offload-retrieve", fits, **A100) / resident < 2.0, "most of the gain is the batch"
    assert tokens_per_s("offload-retrieve", 1, **A100) / tokens_per_s("hbm", 1, **A100) < 1.1


def test_scoutattention_needs_49_gb_per_s_and_half_of_its_cores() -> None:
    """64 sequences of 64k, 2048 tokens chosen, 8.2 % of them on the CPU, steps of 36 ms."""
    item = one("offload-cpu-attention", **SCOUT, users=64)
    frame = build_frame(resolve(Words(**SCOUT, users=64)))
    best = plan_ends(frame, find_strategy("offload-cpu-attention"))[1]
    read = decode_step(best, place(best, 65536.0, 64.0), 65536.0, 64.0).cpu_kv_bytes
    assert read / 0.036 == pytest.approx(49e9, rel=0.10)
    parts = {part.name: part.value for part in item.budgets["cpu_cores"].parts}
    assert 14 < parts["attention"] < 36
    used = item.budgets["cpu_cores"].used
    assert used is not None and 14 < used.low and used.high < 36
    assert item.budgets["dram_bandwidth"].load < 1.0
    hosted = {part.name: part.value for part in item.budgets["dram_capacity"].parts}
    assert hosted["kv"] == pytest.approx(687e9, rel=0.01), "64 x 64k live in host memory"


def test_a_user_of_llama_3_70b_at_128k_costs_40_gib() -> None:
    frame = build_frame(resolve(Words(model="llama3-70b", host="h100-server", engine="generic", context="128k")))
    assert kv_of(frame.deployment.model).kv_bytes_per_token * 131072 == 40 * GIB


def test_pcie_4_is_a_hundredth_of_hbm3() -> None:
    gpu = load_host("h100-server", ()).gpu
    assert gpu is not None and gpu.hbm_bytes_per_s is not None
    assert 80 < gpu.hbm_bytes_per_s / (PCIE_X16_GB_PER_S[4].best * 1e9) < 140
    assert gpu.hbm_bytes_per_s / 32e9 == pytest.approx(105, rel=0.01), "by both data sheets"


def macs() -> list[str]:
    return [name for name in host_table().names() if load_host(name, ()).category == "mac"]


@pytest.mark.parametrize("host", macs())
def test_on_a_mac_there_is_nothing_to_offload_to(host: str) -> None:
    answer = judged(model="llama3.2-1b", host=host, context=4096)
    rows = [item for item in answer.strategies if "offload" in item.id]
    assert len(rows) >= 5
    assert {(item.outcome, item.bound_by) for item in rows} == {("na", "unified")}


DESKTOP = {"host": "rtx4090", "gpus": 1, "cpu_cores": 16, "hbm_gib": 80, "dram_gib": 2048}
"""A desktop CPU with the papers' GPU memory and host memory, so that only cores and DRAM rate are lacking."""
PUBLISHED = [
    ("scoutattention, 36 cores", "offload-cpu-attention", {
        "model": QWEN3_14B_LONG, "method": "scoutattention", "context": 65536, "users": 64, "itl_ms": 36}),
    ("magicpig, 64 threads", "offload-cpu-attention", {
        "model": "llama3-8b", "method": "magicpig", "context": 98304, "users": 16, "itl_ms": 299}),
    ("llama.cpp -nkvo, 64 threads", "offload-cpu-attention", {
        "model": "internlm2.5-7b-1m", "engine": "llama.cpp", "context": 131072, "users": 1, "itl_ms": 204}),
    ("pqcache, 48 cores", "offload-retrieve", {
        "model": "llama3-8b", "method": "pqcache", "context": 131072, "users": 1, "itl_ms": 200}),
    ("retroinfer, 24 threads a GPU", "offload-retrieve", {
        "model": "llama3-8b-1048k", "method": "retroinfer", "context": 122880, "users": 32, "itl_ms": 200, "gpus": 2,
        "dp": 2, "host": "rtx4090-2x"}),
]  # fmt: skip
"""Published batches at the paces they were published with; RetroInfer's cores are for each GPU."""


@pytest.mark.parametrize(("strategy", "words"), [row[1:] for row in PUBLISHED], ids=[row[0] for row in PUBLISHED])
def test_a_desktop_of_16_cores_starves_what_was_published_with_24_to_64_threads(
    strategy: str, words: dict[str, Any]
) -> None:
    item = one(strategy, **{**DESKTOP, **words})
    assert item.outcome == "no"
    assert item.bound_by in ("cpu_cores", "dram_bandwidth")


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("offload-cpu-attention", {"model": QWEN3_14B_LONG, "method": "scoutattention", "context": 65536, "users": 8}),
        ("offload-cpu-attention", {"model": "internlm2.5-7b-1m", "method": "ktransformers", "context": 131072}),
        ("offload-cpu-attention", {"model": "llama3-8b", "method": "magicpig", "context": 98304, "itl_ms": 400}),
        ("offload-retrieve", {"model": "llama3-8b-1048k", "method": "retroinfer", "context": 122880, "users": 4}),
    ],
)
def test_and_serves_small_batches_where_the_arithmetic_says_so(strategy: str, words: dict[str, Any]) -> None:
    assert one(strategy, **{**DESKTOP, **words}).outcome in ("fits", "tight")


def test_four_tenants_starve_the_cpu_of_a_host_with_48_cores() -> None:
    words = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "cpu_cores": 48, "context": "128k", "users": 8}
    for strategy in ("offload-retrieve", "offload-cpu-attention"):
        alone, crowded = one(strategy, **words), one(strategy, **words, tenants=4)
        assert alone.outcome == "fits"
        assert crowded.budgets["cpu_cores"].load == pytest.approx(4 * alone.budgets["cpu_cores"].load)
    starved = one("offload-retrieve", **words, tenants=4)
    assert (starved.outcome, starved.bound_by) == ("no", "cpu_cores")


def test_quantize_on_a_lean_host_offload_on_a_wide_one_and_both_where_neither_reaches() -> None:
    lean = judged(model="llama3-8b", host="h100-lean", context="128k", users=6)
    assert lean.verdict.strategy == "kv-fp8"
    assert lean.strategy("offload-retrieve").bound_by in ("cpu_cores", "dram_capacity")
    wide = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": "128k"}
    offloading = judged(**wide, users=8)
    assert str(offloading.verdict.strategy).startswith("offload-")
    assert offloading.strategy("kv-fp8").bound_by == "hbm"
    alone = {name: most_users(name, **wide, itl_ms=100) for name in ("kv-fp8", "kv-int4", "offload-retrieve")}
    both = most_users("kv-fp8+offload-retrieve", **wide, itl_ms=100)
    assert both > 1.3 * max(alone.values())
    crowd = judged(**wide, itl_ms=100, users=both)
    assert "+" in str(crowd.verdict.strategy)
