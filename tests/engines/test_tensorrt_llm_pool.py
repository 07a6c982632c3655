"""TensorRT-LLM's paged pool against its logs, tokens counted one by one; and mlx-lm, which has no pool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kvplan.catalog.models import load_model
from kvplan.engines.kv_layout import KvLayout
from kvplan.errors import CannotJudge
from tests.engines.pool_kit import MTP, kernel, layers_of, layout_of, model_of, observations
from tests.naive_pools import tensorrt_blocks

GIB = 2**30
ROWS = observations("tensorrt_llm_logs")


def asked(row: dict[str, Any], pool_bytes: float | None) -> KvLayout:
    kv = kernel(row["kv_cache_dtype"]) if "kv_cache_dtype" in row else None
    return layout_of(model_of(row), f"tensorrt-llm@{row['version']}", pool_bytes, kv)


@pytest.mark.parametrize("row", [row for row in ROWS if "free_gib" in row], ids=lambda row: str(row["id"]))
def test_free_bytes_give_the_blocks_of_the_log(row: dict[str, Any]) -> None:
    """A fraction of the free memory, rounded up to blocks: only that gives the counts of both logs."""
    low, high = (asked(row, (row["free_gib"] + way * 0.005) * row["fraction"] * GIB).pool for way in (-1, 1))
    assert low is not None and high is not None and low.blocks <= row["blocks"] <= high.blocks
    assert high.blocks - low.blocks <= 5
    one_block = high.tokens // high.blocks * asked(row, None).bytes_per_token
    assert row["blocks"] * one_block > (row["free_gib"] + 0.005) * row["fraction"] * GIB  # rounding down can't give it


@pytest.mark.parametrize("row", [row for row in ROWS if "tokens" in row], ids=lambda row: str(row["id"]))
def test_the_line_of_the_log(row: dict[str, Any]) -> None:
    layout = asked(row, row["tokens"] * asked(row, None).bytes_per_token)
    assert layout.pool is not None and layout.pool.tokens == row["tokens"]
    assert layout.pool.log_line.splitlines()[-1] == (
        f"[MemUsageChange] Allocated {row['allocated_gib']:.2f} GiB for max tokens in paged KV cache ({row['tokens']})."
    )


@pytest.mark.parametrize(("version", "block"), [("0.12", 64), ("0.17", 64), ("0.19", 32), ("1.2", 32)])
def test_tokens_of_a_block_by_version(version: str, block: int) -> None:
    layout = layout_of("llama3-8b", f"tensorrt-llm@{version}")
    assert layout.block_tokens == block
    assert layout.bytes_per_sequence == 4096 * 131072


def test_an_unknown_default_can_be_settled() -> None:
    with pytest.raises(CannotJudge, match="0.18"):
        layout_of("llama3-8b", "tensorrt-llm@0.18")
    assert layout_of("llama3-8b", "tensorrt-llm@0.18", block_size=32).block_tokens == 32


def test_heads_are_copied_and_latents_whole() -> None:
    assert layout_of("llama3-8b", "tensorrt-llm", tp=8).bytes_per_token == 32 * 2 * 128 * 2
    assert layout_of("llama3-8b", "tensorrt-llm", tp=16).bytes_per_token == 32 * 2 * 128 * 2
    assert layout_of("deepseek-v3", "tensorrt-llm", tp=8, kv=kernel("fp8")).bytes_per_token == 61 * 576
    assert layout_of("llama3-8b", "tensorrt-llm", pp=3).bytes_per_token == 11 * 4096


@pytest.mark.parametrize("model", ["gpt-oss-20b", "qwen3.5-27b", "glm-5", "deepseek-v4-flash", "gemma4-e4b"])
def test_several_pools_are_refused(model: str) -> None:
    with pytest.raises(CannotJudge, match="not modelled"):
        layout_of(model, "tensorrt-llm", 10 * GIB)


def test_drafts_are_refused() -> None:
    with pytest.raises(CannotJudge, match="drafts"):
        layout_of("deepseek-v3", "tensorrt-llm", drafting=MTP)


@settings(max_examples=200, deadline=None)
@given(
    layers=some.integers(1, 8), heads=some.sampled_from([1, 2, 4, 8]), width=some.sampled_from([64, 96, 128]),
    tp=some.sampled_from([1, 2, 4]), block=some.sampled_from([16, 32, 64]), pool=some.integers(20_000, 3_000_000),
)  # fmt: skip
def test_a_pool_filled_token_by_token(layers: int, heads: int, width: int, tp: int, block: int, pool: int) -> None:
    kv = layers_of([["full", layers, heads, width, width, None]])
    model = load_model("llama3-8b", ())._replace(kv=kv, layers=layers, attention_heads=8 * heads)
    expected = tensorrt_blocks(layers, heads, width, tp, block, pool)
    try:
        found = layout_of(model, "tensorrt-llm", float(pool), tp=tp, block_size=block).pool
    except CannotJudge:
        assert expected == 0
        return
    assert found is not None and (found.blocks, found.tokens) == (expected, expected * block)


def test_mlx_grows_by_256_tokens_and_keeps_windows_where_it_rotates() -> None:
    rotating = layout_of("gemma3-27b", "mlx", context=5000)
    assert rotating.block_tokens == 256 and rotating.pool is None
    assert rotating.bytes_per_sequence == 10 * 8192 * 5120 + 52 * 8192 * 1024
    kept = layout_of("gemma2-27b", "mlx", context=5000)
    assert kept.bytes_per_sequence == 46 * 16 * 256 * 2 * 5120 and any("rotating" in note for note in kept.notes)


def test_mlx_prints_no_pool() -> None:
    with pytest.raises(CannotJudge, match="no pool"):
        layout_of("llama3-8b", "mlx", 8 * GIB)
