from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, serve

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"


def test_a_draft_model_makes_the_pool_smaller(tmp_path: Path) -> None:
    flags = """--speculative-config '{"method": "eagle3", "model": "x/y", "num_speculative_tokens": 3}'"""
    assert only(tmp_path, serve(f"{LLAMA} {flags}"), "KV417", host="h100-server").level == "unknown"


def test_n_grams_weigh_nothing(tmp_path: Path) -> None:
    flags = """--speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'"""
    assert found(tmp_path, serve(f"{LLAMA} {flags}"), "KV417", host="h100-server") == []


@pytest.mark.parametrize(("flags", "level"), [
    ("--enable-lora", "info"), ("--num-gpu-blocks-override 512", "unknown"), ("--dtype float32", "unknown"),
    ("--quantization torchao", "unknown"),
])  # fmt: skip
def test_flags_that_are_not_modelled(tmp_path: Path, flags: str, level: str) -> None:
    assert only(tmp_path, serve(f"{LLAMA} {flags}"), "KV417", host="h100-server").level == level


def test_plain_flags(tmp_path: Path) -> None:
    flags = "--dtype bfloat16 --enable-prefix-caching --quantization fp8"
    assert found(tmp_path, serve(f"{LLAMA} {flags}"), "KV417", host="h100-server") == []


def test_experts_over_data_parallel_ranks(tmp_path: Path) -> None:
    """Each rank holds a part of the experts: dividing by tp alone would say that weights do not fit."""
    flags = "deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel --max-model-len 8192"
    result = checked(tmp_path, serve(flags, "0.21.0"), host="h200-server")
    assert [(item.rule, item.level) for item in result.findings] == [("KV417", "unknown")]
