"""vLLM's pool: what its start-up logs printed, what its own code makes of layouts, and the rules by version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.models import load_model
from kvplan.deployments.words import Words
from kvplan.domain.model import KvLayers, Model, State
from kvplan.engines.kv_layout import KvLayout
from kvplan.engines.vllm_memory.groups import approximate_gcd
from kvplan.errors import CannotJudge, InputError
from kvplan.results.kv_layouts import laid_out
from kvplan.units import GIB

TRUTH = Path(__file__).parents[1] / "truth"
_SETTINGS = ("tp", "dcp", "max_model_len", "kv_cache_dtype", "max_num_batched_tokens", "block_size",
             "speculative_config", "unify_kv_groups")  # fmt: skip


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRUTH / name).read_text(encoding="utf-8").splitlines()]


def answer(row: dict[str, Any], version: str, pool_bytes: int | None = None) -> KvLayout:
    told = {name: row[name] for name in _SETTINGS if name in row}
    return layout(row.get("kv") or row["model"], version, pool_bytes, **told)


def block_bytes(row: dict[str, Any], version: str) -> int:
    """Bytes of one block: a pool that holds one more than the block before it."""
    whole = answer(row, version, 2**40).pool
    assert whole is not None
    low, high = 1, 2**40
    while low < high:
        middle = (low + high) // 2
        pool = answer(row, version, middle).pool
        assert pool is not None
        low, high = (low, middle) if pool.blocks >= 1 else (middle + 1, high)
    return low


def pools_of(row: dict[str, Any], version: str) -> list[KvLayout]:
    """The pools that the printed GiB allow, one for each number of blocks; without any, those around the tokens."""
    one = block_bytes(row, version)
    if "available_gib" in row:
        low, high = ((row["available_gib"] + end * 0.005) * GIB for end in (-1, 1))
        return [answer(row, version, count * one) for count in range(int(low // one), int(high // one) + 1)]
    if "gpu_blocks" in row:
        return [answer(row, version, row["gpu_blocks"] * one)]
    near = answer(row, version, 100_000 * one).pool
    assert near is not None
    middle = row["tokens"] * 100_000 // near.tokens
    return [answer(row, version, count * one) for count in range(middle - 2, middle + 3)]


def prints(row: dict[str, Any], found: KvLayout) -> bool:
    """Whether the pool is the printed one in every figure."""
    pool = found.pool
    assert pool is not None
    checks = [
        "tokens" not in row or pool.tokens == row["tokens"],
        "gpu_blocks" not in row or pool.blocks == row["gpu_blocks"],
        "concurrency" not in row or f"{pool.max_concurrency:.2f}" == f"{row['concurrency']:.2f}",
        "cpu_blocks" not in row or f"# CPU blocks: {row['cpu_blocks']}\n" in (pool.log_line or ""),
    ]
    return all(checks)


def fits(row: dict[str, Any], version: str) -> bool:
    """Whether the version reproduces the row, exactly to the digits printed."""
    if "needed_gib" in row:
        needed = answer(row, version).bytes_per_sequence / GIB
        return bool(abs(needed - row["needed_gib"]) <= row["digits"])
    if "block_tokens" in row:
        return bool(answer(row, version).block_tokens == row["block_tokens"])
    return any(prints(row, found) for found in pools_of(row, version))


def logs() -> list[Any]:
    return [
        pytest.param(
            row, id=row["id"],
            marks=[pytest.mark.xfail(strict=True, reason=row["miss"])] if "miss" in row else [],
        )
        for row in rows("vllm_logs.jsonl")
    ]  # fmt: skip


@pytest.mark.parametrize("row", logs())
def test_the_versions_of_its_date_that_print_a_log(row: dict[str, Any]) -> None:
    """Printed tokens, blocks and concurrency, from a pool that the printed GiB allow: by those versions, no others."""
    found = [version for version in row["versions"] if fits(row, version)]
    assert found == row.get("fits", row["versions"])


PLAIN = [
    row for row in rows("vllm_logs.jsonl")
    if "available_gib" in row and "tokens" in row and "miss" not in row and row["model"] != "whisper-large-v3"
]  # fmt: skip


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row["id"])
def test_bytes_per_token_within_the_rounding_of_the_log(row: dict[str, Any]) -> None:
    printed = row["available_gib"] * GIB / row["tokens"]
    found = answer(row, row["versions"][0]).bytes_per_token
    assert abs(found - printed) / printed <= max(0.001, 0.005 / row["available_gib"])


def model_of(kv_rows: Any) -> Model:
    """Bare layers on the body of another model; a name is a model of the catalog."""
    if isinstance(kv_rows, str):
        return load_model(kv_rows, ())
    nothing = {"kv_heads": 0, "key_elements": 0, "value_elements": 0}
    states = [{"state": State(*row["state"])} if "state" in row else {} for row in kv_rows]
    kinds = [KvLayers(**{**nothing, **row, **state}) for row, state in zip(kv_rows, states, strict=True)]
    return load_model("llama3-8b", ())._replace(kv=tuple(kinds), model_type="qwen3_5", max_context_tokens=10**6)


def layout(kv_rows: Any, version: str, pool_bytes: int | None = None, **told: Any) -> KvLayout:
    words = Words(model="bare", engine=f"vllm@{version}", **told)
    return laid_out(model_of(kv_rows), words, pool_bytes)[1]


@pytest.mark.parametrize("row", rows("vllm_accounting.jsonl"), ids=lambda row: row["version"])
def test_what_vllms_own_code_makes_of_a_layout(row: dict[str, Any]) -> None:
    told = {name: row[name] for name in _SETTINGS if name in row}
    pool = layout(row["kv"], row["version"], row["pool_bytes"], **told).pool
    assert pool is not None
    assert (pool.blocks, pool.tokens) == (row["blocks"], row["tokens"])
    assert pool.max_concurrency == pytest.approx(row["concurrency"], abs=1e-9)


FULL = {"kind": "full", "layers": 12, "kv_heads": 8, "key_elements": 128, "value_elements": 128}
WINDOW = {**FULL, "kind": "sliding", "window_tokens": 1024}


@pytest.mark.parametrize(
    ("version", "word", "token_bytes"),
    [
        ("0.21", None, 8 * 256 * 2),
        ("0.21", "fp8_e4m3", 8 * 256),
        ("0.20", "int8_per_token_head", 8 * (256 + 8)),
        ("0.25", "fp8_per_token_head", 8 * (256 + 8)),
        ("0.25", "int4_per_token_head", 8 * (128 + 8)),
        ("0.25", "nvfp4", 8 * 144),
    ],
)
def test_bytes_of_a_token_by_cache_type(version: str, word: str | None, token_bytes: int) -> None:
    found = layout([FULL], version, max_model_len=4096, kv_cache_dtype=word)
    assert found.bytes_per_token == 12 * token_bytes
    assert found.bytes_per_sequence == 12 * token_bytes * 4096


@pytest.mark.parametrize(
    ("word", "slot"),
    [("turboquant_k8v4", 196), ("turboquant_4bit_nc", 134), ("turboquant_k3v4_nc", 118), ("turboquant_3bit_nc", 102)],
)
def test_turboquant_leaves_four_layers_of_a_dense_model(word: str, slot: int) -> None:
    """196, 134, 118 and 102 bytes for a key and a value of 128 elements: vLLM's turboquant/config.py."""
    found = layout([FULL], "0.21", max_model_len=4096, kv_cache_dtype=word)
    assert found.bytes_per_token == 8 * (8 * slot + 4 * 512)


def test_turboquant_blocks_grow_to_hold_sixteen_bits_since_025() -> None:
    words = {"max_model_len": 4096, "kv_cache_dtype": "turboquant_4bit_nc"}
    assert (layout([FULL], "0.21", **words).block_tokens, layout([FULL], "0.25", **words).block_tokens) == (16, 64)


@pytest.mark.parametrize(("tp", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1)])
def test_more_ranks_than_heads_keep_one_each(tp: int, heads: int) -> None:
    assert layout([FULL], "0.21", tp=tp, max_model_len=4096).bytes_per_token == 12 * heads * 512


def test_latents_are_whole_on_every_rank() -> None:
    latent = {"kind": "mla", "layers": 61, "kv_heads": 1, "key_elements": 576, "replicated": True}
    for tp in (1, 8):
        assert layout([latent], "0.11", tp=tp, max_model_len=4096).bytes_per_token == 70272
    packed = {**latent, "read_tokens": 2048}
    index = {**latent, "kind": "indexer", "key_elements": 128, "index_bytes": 132, "index_heads": 64}
    found = layout([packed, index], "0.20", max_model_len=4096, kv_cache_dtype="fp8")
    assert (found.kv_cache_dtype, found.bytes_per_token, found.block_tokens) == ("fp8_ds_mla", 61 * (656 + 132), 64)


def test_a_window_holds_one_block_more_than_window_and_batch() -> None:
    """window - 1 + one batch, rounded up, and one: (1023 + 2048) / 16 -> 192, and 193; two batches since 0.26."""
    for version, blocks in (("0.21", 193), ("0.26", 321)):
        found = layout([FULL, WINDOW], version, max_model_len=100_000, max_num_batched_tokens=2048)
        assert found.fixed_bytes_per_sequence == blocks * 12 * 16 * 4096
    short = layout([FULL, WINDOW], "0.21", max_model_len=160, max_num_batched_tokens=2048)
    assert short.bytes_per_sequence == (10 + 11) * 12 * 16 * 4096


@pytest.mark.parametrize(("version", "groups"), [("0.11", 12), ("0.17", 12), ("0.18", 17)])
def test_groups_join_by_version(version: str, groups: int) -> None:
    """12 full and 17 sliding layers: two groups of 17 where the factor is 1.5, else groups of 12."""
    found = layout([FULL, {**WINDOW, "layers": 17}], version, 2**30, max_model_len=4096)
    assert found.pool is not None
    assert found.pool.blocks == 2**30 // (groups * 16 * 4096)


def test_the_line_means_something_else_since_021() -> None:
    old, new = (layout([FULL, WINDOW], version, 2**32, max_model_len=32768).pool for version in ("0.20", "0.21"))
    assert old is not None and new is not None
    assert old.blocks == new.blocks == 5461
    assert old.max_concurrency == new.max_concurrency
    assert (old.tokens, new.tokens) == (5461 // 2 * 16, int(5461 / (2048 + 193) * 32768))
    assert new.log_line.splitlines() == [
        f"GPU KV cache size: {new.tokens:,} tokens", "Maximum concurrency for 32,768 tokens per request: 2.44x"
    ]  # fmt: skip
    later = layout([FULL, WINDOW], "0.28", 2**32, max_model_len=32768).pool
    assert later is not None
    assert "tokens, Maximum concurrency for 32,768" in later.log_line


def test_without_the_hybrid_manager_windows_keep_every_token() -> None:
    apart = layout([FULL, WINDOW], "0.21", max_model_len=32768)
    together = layout([FULL, WINDOW], "0.21", max_model_len=32768, unify_kv_groups=True)
    assert (apart.bytes_per_token, together.bytes_per_token) == (12 * 4096, 24 * 4096)
    chunked = {**FULL, "kind": "chunked", "window_tokens": 8192}
    assert layout([FULL, chunked], "0.33", max_model_len=32768).bytes_per_token == 24 * 4096
    assert layout([FULL, WINDOW], "0.8", max_model_len=32768).bytes_per_token == 24 * 4096


def test_states_take_blocks_by_mode_and_version() -> None:
    """One block of a state, another for each draft token, one more where prefix caching aligns them: since 0.26."""
    state = {"kind": "gdn", "layers": 12, "kv_heads": 16, "state": [3 * 1024, 65536, False, 3]}
    words: dict[str, Any] = {"max_model_len": 65536}
    cases: list[tuple[str, dict[str, Any], int]] = [
        ("0.21", {}, 1), ("0.26", {}, 2), ("0.26", {"prefix_caching": False}, 1),
        ("0.21", {"mamba_cache_mode": "align"}, 2), ("0.21", {"prefix_caching": True}, 2),
    ]  # fmt: skip
    for version, more, blocks in cases:
        found = layout([FULL, state], version, **words, **more)
        assert found.fixed_bytes_per_sequence == blocks * 12 * found.block_tokens * 4096, (version, more)


def test_groups_of_mamba_are_raised_to_the_ranks() -> None:
    """A group's channels are on every rank that reads it: 1 group on 8 ranks counts eightfold."""
    shared = {"kind": "mamba2", "layers": 1, "kv_heads": 64, "state": [3 * (4096 + 256), 4096 * 128, False, 3, 1, 256]}
    found = layout([shared], "0.21", tp=8, max_model_len=4096)
    assert found.fixed_bytes_per_sequence == (4096 + 8 * 256) // 8 * 3 * 2 + 4096 * 128 // 8 * 2


@pytest.mark.parametrize(
    ("kv_rows", "version", "told", "text"),
    [
        ("deepseek-v4-flash", "0.19", {}, "modelled for vLLM since 0.20"),
        ("deepseek-v4-flash", "0.21", {"unify_kv_groups": True}, "without the hybrid KV manager"),
        ([FULL, {**WINDOW, "kv_heads": 16}], "0.11", {}, "pages of several sizes"),
        ([FULL, {**WINDOW, "kv_heads": 12}], "0.21", {}, "don't divide"),
        ([{"kind": "gdn", "layers": 4, "kv_heads": 16, "state": [3072, 65536, False, 3]}], "0.9.2", {}, "since 0.10"),
        ([FULL, WINDOW], "0.25", {"kv_cache_dtype": "turboquant_4bit_nc"}, "TurboQuant over sliding windows"),
        ([{**FULL, "kind": "cross", "sequence_tokens": 1601}], "0.21", {}, "Whisper"),
        ([{"kind": "mla", "layers": 4, "kv_heads": 1, "key_elements": 576, "replicated": True}], "0.6", {}, "with mla"),
    ],
)  # fmt: skip
def test_what_no_rule_is_known_for_is_refused(kv_rows: Any, version: str, told: dict[str, Any], text: str) -> None:
    with pytest.raises(CannotJudge, match=text):
        layout(kv_rows, version, max_model_len=4096, **told)


def test_values_that_no_vllm_takes() -> None:
    state = {"kind": "gdn", "layers": 4, "kv_heads": 16, "state": [3072, 65536, False, 3]}
    for told in ({"mamba_cache_mode": "some"}, {"mamba_ssm_cache_dtype": "int8"}):
        with pytest.raises(InputError):
            layout([state], "0.21", max_model_len=4096, **told)


def test_pipeline_stages_share_layers_rounded_up() -> None:
    assert layout([FULL], "0.21", pp=5, max_model_len=4096).bytes_per_token == 3 * 4096


def test_the_number_that_wastes_least() -> None:
    """43 windows, 21 and 20 compressors in at least 21: 22 wastes 1 + 1 + 2."""
    assert approximate_gcd([21, 43, 21, 20], least=21) == 22
    assert approximate_gcd([12, 12], least=12) == 12
