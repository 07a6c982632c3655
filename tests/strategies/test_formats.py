"""Bytes of every KV format as published, and which engine has it on which GPU, since when and for which models."""

from __future__ import annotations

import pytest

import kvplan
from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import StrategyAssessment
from kvplan.errors import InputError
from kvplan.strategies import all_strategies

FORMATS = [strategy.id for strategy in all_strategies().values() if strategy.kv_suffix and "+" not in strategy.id]
CONTRACT = {"kv-fp8", "kv-int8", "kv-int4", "kv-nvfp4", "kv-q8_0", "kv-q4_0", "kv-kivi-2"}
TURBOQUANT = {f"kv-turboquant-{name}" for name in ("k8v4", "4bit", "k3v4", "3bit")}


def judged(strategy: str, **words: object) -> StrategyAssessment:
    given = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": 4096, **words}
    return assess(resolve(Words(**given)), (strategy,)).strategies[0]  # type: ignore[arg-type]


def token_bytes(strategy: str, **words: object) -> float:
    found = judged(strategy, **words).kv_bytes_per_token
    assert found is not None
    return found


def test_every_format_of_the_contract_is_there() -> None:
    assert set(FORMATS) == CONTRACT | TURBOQUANT


@pytest.mark.parametrize(
    ("name", "pair_bytes", "of_70b", "of_30b"),
    [("k8v4", 196, 2.4, 2.3), ("4bit", 134, 3.4, 3.1), ("k3v4", 118, 3.7, 3.4), ("3bit", 102, 4.2, 3.7)],
)
def test_turboquant_holds_what_vllm_published(name: str, pair_bytes: int, of_70b: float, of_30b: float) -> None:
    """Bytes of a key and a value of 128 elements (vLLM's turboquant/config.py), capacities against BF16 (its blog)."""
    strategy, eight = f"kv-turboquant-{name}", {"gpus": 8, "tp": 8}
    layers, heads = 32, 8
    assert token_bytes(strategy) == heads * ((layers - 4) * pair_bytes + 4 * 512)
    for model, capacity in (("llama3-70b", of_70b), ("qwen3-30b-a3b", of_30b)):
        gain = token_bytes("hbm", model=model, **eight) / token_bytes(strategy, model=model, **eight)
        assert gain == pytest.approx(capacity, rel=0.02)


def test_a_pipeline_stage_has_one_end_of_the_layers_in_16_bits() -> None:
    found = token_bytes("kv-turboquant-4bit", gpus=2, tp=1, pp=2)
    assert found == 8 * (14 * 134 + 2 * 512)


def test_kivi_keeps_the_newest_128_tokens_in_16_bits() -> None:
    """3 bits an element, so 5.33 x in the long run (KIVI: 5.3 x), and 128 tokens of the rest."""
    assert token_bytes("hbm", engine="generic") / token_bytes("kv-kivi-2", engine="generic") == pytest.approx(16 / 3)
    held = judged("kv-kivi-2", engine="generic").budgets["hbm"]
    kv = next(part.value for part in held.parts if part.name == "kv")
    assert kv == 131072 * (4096 * 3 / 16 + 128 * 13 / 16)


@pytest.mark.parametrize(
    ("strategy", "engine", "bits"),
    [
        ("kv-fp8", "vllm", 8.0),
        ("kv-int8", "vllm", 8.25),
        ("kv-int4", "vllm", 4.25),
        ("kv-int8", "sglang", 8.25),
        ("kv-q8_0", "llama.cpp", 8.5),
        ("kv-q4_0", "llama.cpp", 4.5),
    ],
)
def test_bits_of_an_element_with_its_scales(strategy: str, engine: str, bits: float) -> None:
    assert token_bytes(strategy, engine=engine) == 131072 * bits / 16


@pytest.mark.parametrize(
    ("strategy", "words", "outcome"),
    [
        ("kv-int8", {"engine": "llama.cpp"}, "no"),
        ("kv-q8_0", {}, "no"),
        ("kv-kivi-2", {}, "no"),
        ("kv-nvfp4", {}, "no"),
        ("kv-nvfp4", {"host": "b200-server"}, "fits"),
        ("kv-nvfp4", {"host": "rtx5090", "weights": "fp8"}, "unknown"),
        ("kv-nvfp4", {"host": "rtx5090", "engine": "sglang", "weights": "fp8"}, "unknown"),
        ("kv-turboquant-4bit", {}, "fits"),
        ("kv-turboquant-4bit", {"host": "b200-server"}, "unknown"),
        ("kv-turboquant-4bit", {"engine": "sglang"}, "no"),
        ("kv-turboquant-4bit", {"model": "gemma3-27b"}, "unknown"),
        ("kv-turboquant-4bit", {"model": "qwen3-next-80b-a3b", "weights": "fp8", "gpus": 4}, "unknown"),
        ("kv-turboquant-4bit", {"model": "deepseek-v2-lite"}, "no"),
        ("kv-turboquant-4bit", {"engine": "vllm@0.19"}, "no"),
        ("kv-turboquant-4bit", {"engine": "vllm@0.20"}, "fits"),
        ("kv-int4", {"engine": "vllm@0.22"}, "no"),
        ("kv-fp8", {"engine": "vllm@0.10"}, "fits"),
    ],
)
def test_a_missing_kernel_is_a_no_and_an_unsettled_one_unknown(
    strategy: str, words: dict[str, object], outcome: str
) -> None:
    found = judged(strategy, **words)
    assert found.outcome == outcome
    assert found.bound_by == (None if outcome == "fits" else "kernel")


def test_a_kernel_that_came_later_is_said_to_be_later() -> None:
    assert judged("kv-int4", engine="vllm@0.22").reason == "vllm 0.22 has no int4 KV kernel yet: 0.23 has one"
    assert judged("kv-q8_0").reason == "vllm has no q8_0 KV kernel for H100 SXM 80 GB"


def test_turboquant_costs_time_even_where_there_is_little_kv() -> None:
    """Llama-3.3-70B on 4 H100 at 1k tokens: 1.4 to 1.7 times the latency of BF16 at 1 to 64 sequences."""
    for users in (1, 64):
        four = {"model": "llama3.3-70b", "gpus": 4, "context": 1280, "users": users}
        plain, packed = (judged(name, **four).itl_s for name in ("hbm", "kv-turboquant-4bit"))
        assert plain is not None
        assert packed is not None
        assert 1.3 < packed.best / plain.best < 1.8


def test_a_resident_type_costs_the_same_time() -> None:
    named, resident = judged("kv-turboquant-4bit"), judged("hbm", kv_cache_dtype="turboquant_4bit_nc")
    assert named.itl_s == resident.itl_s
    assert named.accuracy == resident.accuracy


def test_a_type_that_is_newer_than_the_engine_is_refused() -> None:
    with pytest.raises(InputError, match="turboquant_4bit_nc"):
        judged("hbm", kv_cache_dtype="turboquant_4bit_nc", engine="vllm@0.15")


def test_what_is_listed_without_being_named() -> None:
    """Formats that lose 12 points and more are not, nor is INT8 beside FP8, nor a pair with either."""
    ids = [row["id"] for row in kvplan.fit(model="llama3-8b", host="h100-server", gpus=1).to_json()["strategies"]]
    assert "kv-turboquant-4bit" in ids
    assert not {"kv-turboquant-3bit", "kv-turboquant-k3v4", "kv-int8", "expert-offload"} & set(ids)
    assert not [name for name in ids if "+" in name and name.startswith(("kv-turboquant", "kv-int8"))]


@pytest.mark.parametrize("pair", ["kv-int8+offload-retrieve", "kv-turboquant-3bit+weight-offload"])
def test_any_pair_can_be_named(pair: str) -> None:
    assert judged(pair).id == pair
