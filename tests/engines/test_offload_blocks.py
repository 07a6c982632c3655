"""What one copy of an engine's offload holds, by version, against the page that published it."""

from __future__ import annotations

import pytest

from kvplan.assess import build_frame
from kvplan.assess.frame import plan_ends
from kvplan.core.link import copy_bytes
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.strategies import find_strategy


def copied_bytes(strategy: str = "offload-reuse", **words: object) -> float:
    frame = build_frame(resolve(Words(host="h100-server", context=8192, **words)))  # type: ignore[arg-type]
    return copy_bytes(plan_ends(frame, find_strategy(strategy))[1])


@pytest.mark.parametrize(
    ("model", "tp", "before_kb", "since_mb"),
    [
        ("llama3-8b", 1, 32, 2.0), ("llama3-70b", 4, 8, 1.25), ("qwen2.5-7b", 1, 16, 0.875),
        ("deepseek-v2-lite", 1, 72, 1.898),
    ],
)  # fmt: skip
def test_vllm_copies_pages_before_0_12_and_blocks_since(model: str, tp: int, before_kb: float, since_mb: float) -> None:
    old, new = (copied_bytes(model=model, gpus=tp, tp=tp, engine=f"vllm@{version}") for version in ("0.11", "0.12"))
    assert old == before_kb * 1024
    assert new == pytest.approx(since_mb * 2**20, rel=1e-3)


def test_quantized_kv_makes_smaller_copies() -> None:
    assert copied_bytes("kv-fp8+offload-reuse", model="llama3-8b", gpus=1, engine="vllm") == 2**20


def test_lmcache_copies_chunks_of_256_tokens_whatever_the_version() -> None:
    assert copied_bytes(model="llama3-8b", gpus=1, engine="vllm@0.11", method="lmcache") == 256 * 131072


def test_sglang_copies_pages_of_one_layer() -> None:
    assert copied_bytes(model="llama3-8b", gpus=1, engine="sglang", block_size=64) == 64 * 8 * 128 * 2


def test_engines_without_a_known_layout_have_large_copies_and_a_wide_rate() -> None:
    assert copied_bytes(model="llama3-8b", gpus=1, engine="tensorrt-llm") == 0.0
