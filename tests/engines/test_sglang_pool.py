"""SGLang's token pool against start-up logs, its own sizing read line by line, and a pool filled page by page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

from kvplan.catalog.models import load_model
from kvplan.engines.kv_layout import KvLayout
from kvplan.engines.sglang_pool import host_tokens
from kvplan.errors import CannotJudge
from tests.engines.pool_kit import MTP, kernel, layers_of, layout_of, model_of, observations
from tests.naive_pools import SglangLayer, sglang_pages, token_bytes

GIB = 2**30
ROWS = observations("sglang_logs")
POOLED = [row for row in ROWS if "pool_gib" not in row]
_FIGURE = re.compile(r"(#tokens|max_mamba_cache_size|K size|V size|KV size|conv_state size|ssm_state size): ([\d.]+)")


def figures(layout: KvLayout) -> dict[str, float]:
    assert layout.pool is not None
    return {name: float(value.rstrip(".")) for name, value in _FIGURE.findall(layout.pool.log_line)}


def asked(row: dict[str, Any], version: str, pool_bytes: float | None) -> KvLayout:
    words = {"tp": row.get("tp", 1), "block_size": row.get("page"), "context": "4k"}
    return layout_of(model_of(row), f"sglang@{version}", pool_bytes, **words)


def pool_of(row: dict[str, Any], version: str) -> float:
    """Bytes that give just the tokens of the log."""
    layout = asked(row, version, None)
    slots = row["states"] + 1 if "states" in row else 0
    return row["tokens"] * layout.bytes_per_token + slots * layout.fixed_bytes_per_sequence


def close(found: float, printed: float, places: float = 0.005) -> bool:
    """Within the larger of 0.1 % and what rounding hides."""
    return abs(found - printed) <= max(places + 1e-9, 0.001 * printed)


@pytest.mark.parametrize("version_row", [(v, row) for row in POOLED for v in row["versions"]],
                         ids=lambda pair: f"{pair[1]['id']}@{pair[0]}")  # fmt: skip
def test_the_figures_of_start_up_logs(version_row: tuple[str, dict[str, Any]]) -> None:
    version, row = version_row
    layout = asked(row, version, pool_of(row, version))
    found = figures(layout)
    assert layout.pool is not None and layout.pool.tokens == row["tokens"]
    for key, name in (("k_gib", "K size"), ("v_gib", "V size"), ("kv_gib", "KV size"), ("conv_gib", "conv_state size"),
                      ("ssm_gib", "ssm_state size"), ("states", "max_mamba_cache_size")):  # fmt: skip
        if key in row:
            assert found[name] == pytest.approx(row[key], abs=1e-9), name
    if "sum_gib" in row:
        assert close(row["tokens"] * layout.bytes_per_token / GIB, row["sum_gib"])


@pytest.mark.parametrize("row", POOLED, ids=lambda row: str(row["id"]))
def test_the_printed_sizes_determine_the_tokens(row: dict[str, Any]) -> None:
    """The sizes are those of one page more; within their rounding lies the number of the log."""
    layout = asked(row, row["versions"][0], None)
    printed = row.get("sum_gib") or row.get("kv_gib") or row["k_gib"] + row["v_gib"]
    half = 0.01 if "k_gib" in row else 0.005
    low, high = ((printed + way * half) * GIB / layout.bytes_per_token - layout.block_tokens for way in (-1, 1))
    assert low - layout.block_tokens <= row["tokens"] <= high + layout.block_tokens


def test_which_versions_the_states_of_qwen3_5_fit() -> None:
    # 124 slots and 330,323 tokens come of one budget only where the slot of padding is charged: 0.5.17 and later
    row = next(row for row in ROWS if "states" in row)
    pool = pool_of(row, "0.5.17")
    assert all(figures(asked(row, version, pool))["max_mamba_cache_size"] == 124 for version in row["versions"])
    assert all(figures(asked(row, version, pool))["max_mamba_cache_size"] == 125 for version in row["not_versions"])


def test_deepseek_v4_of_may_2026() -> None:
    row = next(row for row in ROWS if "pool_gib" in row)
    for version in row["versions"]:
        layout = asked(row, version, None)
        assert layout.bytes_per_token == pytest.approx(row["bytes_per_full_token"], abs=0.005)
        low, high = (asked(row, version, (row["pool_gib"] + way * 0.005) * GIB).pool for way in (-1, 1))
        assert low is not None and high is not None and low.tokens <= row["tokens"] <= high.tokens
        assert row["tokens"] % layout.block_tokens == 0
    for version in row["not_versions"]:
        assert abs(asked(row, version, None).bytes_per_token - row["bytes_per_full_token"]) > 1


@pytest.mark.parametrize(("version", "bytes_per_token"), [
    ("0.5.12", 15955.85), ("0.5.13", 15897.45), ("0.5.14", 15897.45), ("0.5.15", 7705.45), ("0.5.19", 7705.45),
    ("0.5.23", 7086.75),
])  # fmt: skip
def test_deepseek_v4_by_version(version: str, bytes_per_token: float) -> None:
    # 15,955.85 counts the MTP entry, 7,705.45 has states of ratio 128 by request; 0.5.21 pads pages of 585, 585 and 864
    layout = layout_of("deepseek-v4-flash", f"sglang@{version}")
    assert layout.bytes_per_token == pytest.approx(bytes_per_token, abs=0.01)


def test_deepseek_v4_sets_states_of_requests_aside() -> None:
    one = layout_of("deepseek-v4-flash", "sglang@0.5.16", 60 * GIB, max_num_seqs=64).pool
    assert one is not None
    # 65 slots and a ring of 128 rows x 2 x 512 x 4 bytes in 20 layers, one row more, in whole 128s
    rows = -(-(65 * 128 + 129) // 128) * 128
    left = 60 * GIB - rows * 1024 * 4 * 20
    assert one.tokens == int(left / 7705.45) // 256 * 256
    assert f"c128_state_fixed={rows * 4096 * 20 / GIB:.2f} GB" in one.log_line


def test_deepseek_v4_drafts_take_one_layer_in_43_more() -> None:
    plain, drafting = (layout_of("deepseek-v4-flash", "sglang@0.5.16", drafting=d).bytes_per_token for d in (None, MTP))
    states = 0.1 * 8 / 128 * 10240 * 21  # rings of 16 rows instead of 8
    assert drafting == pytest.approx((plain + states) * 44 / 43)


def test_windows_by_requests_since_0_5_21() -> None:
    words = {"max_num_seqs": 32, "max_num_batched_tokens": 8192}
    pool = layout_of("deepseek-v4-flash", "sglang@0.5.23", 60 * GIB, **words).pool
    # 32 x (128 + 128 + 2 x 256) live, two chunks, a page, and 4 x 32 prefixes of 128 + 256: in pages of 256
    assert pool is not None and f"swa={-(-(32 * 768 + 2 * 8192 + 256 + 128 * 384) // 256) * 256}," in pool.log_line


@pytest.mark.parametrize(("model", "version", "has_pool"), [
    ("gpt-oss-20b", "0.5.6", False), ("gpt-oss-20b", "0.5.8", True), ("gemma4-31b", "0.5.11", True),
    ("gemma3-27b", "0.5.23", False), ("llama4-scout", "0.5.6", False), ("llama4-scout", "0.5.9", True),
    ("mimo-v2-flash", "0.5.9", True),
])  # fmt: skip
def test_which_windows_have_a_pool(model: str, version: str, has_pool: bool) -> None:
    pool = layout_of(model, f"sglang@{version}", 40 * GIB).pool
    assert pool is not None and ("swa_layer_tokens" in pool.log_line) is has_pool


def test_the_window_pool_of_gemma_4() -> None:
    # docs and gemma-4-12B logs: sliding tokens are 0.8 of the full ones, and take most of the bytes
    layout = layout_of("gemma4-31b", "sglang", 50 * GIB)
    full, sliding = (float(value) for value in re.findall(r"layer_tokens=(\d+)", layout.pool.log_line))  # type: ignore[union-attr]
    assert sliding == int(0.8 * full)
    assert layout.bytes_per_token == 10 * 2 * 4 * 512 * 2 + 0.8 * 50 * 2 * 16 * 256 * 2


def test_shared_layers_have_buffers() -> None:
    layout = layout_of("gemma4-e4b", "sglang")
    assert layout.bytes_per_token == 7 * 2 * 2 * 512 * 2 + 0.8 * 35 * 2 * 2 * 256 * 2


@pytest.mark.parametrize(("model", "version", "flag", "expected"), [
    ("glm-5", "0.5.9", None, 78 * (1152 + 132)),
    ("glm-5", "0.5.9", "fp8_e4m3", 78 * (576 + 132)),
    ("glm-5", "0.5.17", "fp8_e4m3", 78 * (656 + 132)),
    ("glm-5.2", "0.5.17", None, 78 * (1152 + 132)),
    ("glm-5.2", "0.5.18", None, 78 * 1152 + 21 * 132),
    ("deepseek-v3", "0.5.23", "fp8_e4m3", 61 * 576),
    ("minimax-m3", "0.5.23", None, 60 * 2 * 4 * 128 * 2 + 57 * 256),
])  # fmt: skip
def test_latents_and_indices(model: str, version: str, flag: str | None, expected: float) -> None:
    kv = None if flag is None else kernel(flag)
    assert layout_of(model, f"sglang@{version}", kv=kv).bytes_per_token == expected


def test_fp8_sparse_attention_is_sized_short_before_0_5_17() -> None:
    layout = layout_of("glm-5", "sglang@0.5.9", 40 * GIB, kv=kernel("fp8_e4m3"))
    found = figures(layout)
    assert found["KV size"] == pytest.approx((found["#tokens"] + 64) * 78 * (656 + 132) / GIB, abs=0.005)
    assert any("656" in note for note in layout.notes)


@pytest.mark.parametrize(("version", "expected"), [("0.5.13", 61.0), ("0.5.14", 62.0), ("0.5.23", 62.0)])
def test_drafts_of_an_mtp_head(version: str, expected: float) -> None:
    assert layout_of("deepseek-v3", f"sglang@{version}", drafting=MTP).bytes_per_token == expected * 1152


@pytest.mark.parametrize(("version", "line"), [
    ("0.4.3", "KV Cache is allocated. K size: 0.50 GB, V size: 0.50 GB"),
    ("0.5.12", "KV Cache is allocated. #tokens: 8192, K size: 0.50 GB, V size: 0.50 GB"),
    ("0.5.23", "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, K size: 0.50 GB, V size: 0.50 GB"),
])  # fmt: skip
def test_the_line_by_version(version: str, line: str) -> None:
    pool = layout_of("llama3-8b", f"sglang@{version}", GIB).pool
    assert pool is not None and pool.log_line == line and pool.tokens == 8192 and pool.max_concurrency is None


@pytest.mark.parametrize(("model", "version", "words"), [
    ("jamba-large", "0.5.23", {}), ("deepseek-v4-flash", "0.5.11", {}), ("deepseek-v3.2", "0.5.3", {}),
    ("llama3-8b", "0.5.23", {"dcp": 2, "tp": 2}), ("gemma3-27b", "0.4.10", {}), ("mimo-v2-flash", "0.5.7", {}),
])  # fmt: skip
def test_what_no_rule_covers_is_refused(model: str, version: str, words: dict[str, int]) -> None:
    with pytest.raises(CannotJudge):
        layout_of(model, f"sglang@{version}", 40 * GIB, **words)


def test_states_with_drafts_are_refused() -> None:
    with pytest.raises(CannotJudge):
        layout_of("qwen3.5-27b", "sglang", 40 * GIB, drafting=MTP)


def test_hicache_holds_decimal_gigabytes_of_a_rank() -> None:
    # --hicache-size 10 at 128 KiB a token, pages of 64: 76,293 tokens, whole pages and one more
    assert host_tokens(0, 131072, 64, 10e9) == (76293 // 64 + 1) * 64
    assert host_tokens(100_000, 131072, 1) == 200_001


@settings(max_examples=200, deadline=None)
@given(
    heads=some.sampled_from([1, 2, 4, 8]), width=some.sampled_from([64, 128]), layers=some.integers(1, 6),
    windows=some.integers(0, 6), tp=some.sampled_from([1, 2, 4]), page=some.sampled_from([1, 16, 64]),
    pool=some.integers(200_000, 3_000_000),
)  # fmt: skip
def test_a_pool_filled_page_by_page(
    heads: int, width: int, layers: int, windows: int, tp: int, page: int, pool: int
) -> None:
    rows: list[list[Any]] = [["full", layers, heads, width, width, None]]
    rows += [["sliding", windows, heads, width, width, 128]] if windows else []
    base = load_model("gpt-oss-20b", ())
    model = base._replace(kv=layers_of(rows), layers=layers + windows, attention_heads=8 * heads)
    slow = [SglangLayer(heads, width, False)] * layers + [SglangLayer(heads, width, True)] * windows
    tenths = sum(token_bytes(heads, width, tp) * (8 if layer.in_window_pool else 10) for layer in slow)
    assume(pool * 10 % (page * tenths))  # where the last page fits to the byte, SGLang's floats decide
    expected = sglang_pages(slow, tp, page, pool) * page
    try:
        found = layout_of(model, "sglang@0.5.16", float(pool), tp=tp, block_size=page).pool
    except CannotJudge:
        assert expected == 0
        return
    assert found is not None and found.tokens == expected
