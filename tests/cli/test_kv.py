"""``kvplan kv``: the bytes of published configs, per GPU and in every format, and what pools hold."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.engines import find_engine
from tests.cli.kit import answer, kvplan
from tests.golden_kit import check_golden

FACTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "truth/model_facts.jsonl").read_text(encoding="utf-8").splitlines()
]
GIB = 2**30


def catalog_names() -> dict[str, str]:
    """Hub id, lower-cased -> catalog name, for every model of the shipped catalog."""
    from kvplan.catalog.models import list_models

    return {row.model.hub_id.lower(): row.name for row in list_models() if row.model.hub_id}


IN_CATALOG = [fact for fact in FACTS if "kv_bytes_per_token" in fact and fact["hub_id"].lower() in catalog_names()]


def test_most_catalog_models_have_an_outside_fact() -> None:
    assert len({fact["hub_id"] for fact in IN_CATALOG}) >= 60


@pytest.mark.parametrize("fact", IN_CATALOG, ids=lambda fact: fact["hub_id"])
def test_bytes_per_token_and_windows_are_those_of_the_published_config(fact: dict[str, Any]) -> None:
    kv = answer("kv", "--model", catalog_names()[fact["hub_id"].lower()])
    assert kv["kv_bytes_per_token"] == fact["kv_bytes_per_token"]
    images = sum(layer["bytes_per_sequence"] for layer in kv["layers"] if layer["kind"] == "cross")
    if "window_bytes" in fact:
        bounded = fact["window_bytes"] + fact.get("state_bytes", 0)
        assert kv["kv_bytes_fixed_per_sequence"] - images == bounded
    if "kv_bytes_before_windows" in fact:
        assert sum(layer["bytes_per_token"] for layer in kv["layers"]) == fact["kv_bytes_before_windows"]


@pytest.mark.parametrize(
    ("dtype", "bytes_per_token"),
    [  # Llama-3.1-8B has 2 x 8 heads x 128 x 32 layers = 65,536 KV elements a token
        ("auto", 131072), ("bf16", 131072), ("fp8", 65536), ("fp8_e5m2", 65536), ("int8", 65536), ("int4", 32768),
        ("nvfp4", 36864), ("q8_0", 69632), ("q4_0", 36864),
    ],
)  # fmt: skip
def test_widths_of_the_architecture(dtype: str, bytes_per_token: int) -> None:
    assert answer("kv", "--model", "llama3-8b", "--kv-cache-dtype", dtype)["kv_bytes_per_token"] == bytes_per_token


def test_the_envelope_of_a_plain_model() -> None:
    kv = answer("kv", "--model", "llama3-70b", "--context", "128k", "--tp", "4", "--kv-cache-dtype", "fp8")
    assert kv["schema"] == "kvplan.kv/1"
    assert kv["model"] == "Llama-3.1-70B-Instruct"
    assert kv["engine"]["name"] == "generic"
    assert kv["layout"] == {"tp": 4, "pp": 1, "dp": 1, "ep": 1, "dcp": 1}
    assert (kv["kv_cache_dtype"], kv["block_tokens"], kv["context_tokens"]) == ("fp8", 1, 131072)
    assert kv["kv_bytes_per_token_all_gpus"] == 163840
    assert kv["kv_bytes_per_token"] == 163840 // 4
    assert kv["kv_bytes_fixed_per_sequence"] == 0
    assert kv["kv_bytes_per_sequence"] == 163840 // 4 * 131072
    assert kv["weight_bytes"] == 70_553_706_496 * 2 // 4
    assert kv["pool"] is None
    row = {"kind": "full", "layers": 80, "bytes_per_token": 40960, "window_tokens": None}
    assert kv["layers"] == [{**row, "bytes_per_sequence": 40960 * 131072}]


def test_a_latent_is_one_copy_over_all_ranks() -> None:
    """What the architecture has; an engine keeps the latent whole on every rank."""
    one, eight = (answer("kv", "--model", "deepseek-v3", "--tp", tp) for tp in ("1", "8"))
    assert one["kv_bytes_per_token"] == 61 * 576 * 2
    assert eight["kv_bytes_per_token"] * 8 == eight["kv_bytes_per_token_all_gpus"] == one["kv_bytes_per_token"]


def test_windows_hold_what_is_there_and_no_more() -> None:
    """gpt-oss-120b: 18 layers of 2,048 bytes a token that keep 128 tokens, 18 that keep all."""
    kv = answer("kv", "--model", "gpt-oss-120b", "--context", "1k")
    assert kv["kv_bytes_fixed_per_sequence"] == 18 * 2048 * 128
    assert kv["kv_bytes_per_sequence"] == 18 * 2048 * (1024 + 128)
    short = answer("kv", "--model", "gpt-oss-120b", "--context", "100")
    assert short["kv_bytes_fixed_per_sequence"] == 18 * 2048 * 128
    assert short["kv_bytes_per_sequence"] == 36 * 2048 * 100


@pytest.mark.parametrize("pool", [("--pool-gib", "10"), ("--pool-bytes", str(10 * GIB))])
def test_a_pool_of_a_plain_model_holds_whole_tokens(pool: tuple[str, str]) -> None:
    held = answer("kv", "--model", "llama3-8b", "--context", "128k", *pool)["pool"]
    assert held == {
        "pool_bytes": 10 * GIB, "blocks": 81920, "tokens": 81920, "max_concurrency": 0.625, "log_line": None,
    }  # fmt: skip


def test_a_pool_one_byte_short_of_a_token_holds_one_less() -> None:
    for spare, tokens in ((0, 1000), (-1, 999), (131071, 1000)):
        held = answer("kv", "--model", "llama3-8b", "--pool-bytes", str(131072 * 1000 + spare))["pool"]
        assert held["tokens"] == tokens


def test_a_pool_of_a_model_with_windows_counts_sequences() -> None:
    """One sequence of 1,024 tokens takes 18 x 2,048 x (1,024 + 128) bytes; the pool has room for two and a half."""
    one = 18 * 2048 * (1024 + 128)
    held = answer("kv", "--model", "gpt-oss-120b", "--context", "1k", "--pool-bytes", str(one * 5 // 2))["pool"]
    assert held["max_concurrency"] == 2.5
    assert held["tokens"] == 2560


def test_pipeline_stages_spread_layers() -> None:
    kv = answer("kv", "--model", "llama3-70b", "--pp", "4")
    assert kv["kv_bytes_per_token"] * 4 == kv["kv_bytes_per_token_all_gpus"] == 327680


def test_a_config_at_a_path(tmp_path: Path) -> None:
    keys = {
        "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8,
        "num_hidden_layers": 3, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(keys), encoding="utf-8")
    kv = answer("kv", "--model", str(tmp_path))
    assert kv["kv_bytes_per_token"] == 2 * 2 * 128 * 3 * 2
    assert kv["context_tokens"] == 4096


def test_a_context_beyond_the_models_limit_is_warned_of() -> None:
    assert "4,096 tokens at most" in answer("kv", "--model", "llama2-7b", "--context", "8k")["warnings"][0]
    assert answer("kv", "--model", "llama2-7b", "--context", "4k")["warnings"] == []


def test_an_engine_that_does_not_say_how_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(type(find_engine("vllm")), "kv_layout")
    done = kvplan("kv", "--model", "llama3-8b", "--engine", "vllm")
    assert (done.code, done.out) == (3, "")
    assert "--engine generic" in done.err


def test_csv_has_a_row_a_kind_and_the_total() -> None:
    done = kvplan("kv", "--model", "gemma3-27b", "--context", "32k", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    whole = answer("kv", "--model", "gemma3-27b", "--context", "32k")
    assert [row["kind"] for row in rows] == ["full", "sliding", "total"]
    assert int(rows[2]["bytes_per_token"]) == whole["kv_bytes_per_token"] == int(rows[0]["bytes_per_token"])
    assert sum(int(row["bytes_per_sequence"]) for row in rows[:2]) == int(rows[2]["bytes_per_sequence"])
    assert rows[1]["window_tokens"] == "1024" and rows[0]["window_tokens"] == ""


@pytest.mark.parametrize("columns", [80, 160])
def test_the_screen(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    arguments = ("kv", "--model", "gemma3-27b", "--context", "128k", "--tp", "2", "--pool-gib", "40")
    check_golden(f"kv-windows-{columns}.txt", kvplan(*arguments).out)
    check_golden(f"kv-plain-{columns}.txt", kvplan("kv", "--model", "llama3-8b", "--context", "128k").out)


def test_markdown() -> None:
    arguments = ("kv", "--model", "gemma3-27b", "--context", "128k", "--pool-gib", "40", "--format", "markdown")
    check_golden("kv-windows.md", kvplan(*arguments).out)


VLLM = ("kv", "--model", "glm-5.1", "--tp", "8", "--kv-cache-dtype", "fp8", "--pool-gib", "19.55", "--engine")


def test_vllms_own_layout_and_its_line() -> None:
    """GLM-5.1 on eight GPUs: 78 x (656 + 132) bytes a token, and the tokens that vLLM 0.20 printed for 19.55 GiB."""
    kv = answer(*VLLM, "vllm@0.20", "--max-model-len", "202752")
    assert (kv["engine"], kv["kv_cache_dtype"], kv["block_tokens"]) == (
        {"name": "vllm", "version": "0.20"}, "fp8_ds_mla", 64)  # fmt: skip
    assert (kv["kv_bytes_per_token"], kv["kv_bytes_per_token_all_gpus"]) == (61464, 8 * 61464)
    pool = kv["pool"]
    assert (pool["blocks"], pool["tokens"], round(pool["max_concurrency"], 2)) == (5336, 341504, 1.68)
    assert pool["log_line"] == (
        "GPU KV cache size: 341,504 tokens\nMaximum concurrency for 202,752 tokens per request: 1.68x"
    )


def test_an_engines_sequence_is_as_long_as_the_model_takes() -> None:
    assert answer(*VLLM, "vllm@0.20")["context_tokens"] == 202752
    shorter = answer(*VLLM, "vllm@0.20", "--context", "32k", "--max-model-len", "202752")
    assert (shorter["context_tokens"], round(shorter["pool"]["max_concurrency"], 2)) == (32768, 1.68)
    assert shorter["kv_bytes_per_sequence"] == 32768 * 61464


def test_settings_of_the_engine_change_its_blocks() -> None:
    plain = ("kv", "--model", "gpt-oss-20b", "--engine", "vllm@0.21", "--max-model-len", "32768", "--pool-gib", "10")
    default, whole = answer(*plain), answer(*plain, "--disable-hybrid-kv-cache-manager")
    assert (default["kv_bytes_per_token"], whole["kv_bytes_per_token"]) == (24576, 49152)
    batch = answer(*plain, "--max-num-batched-tokens", "8192")
    assert batch["pool"]["max_concurrency"] < default["pool"]["max_concurrency"]
    assert "2,048 in flight" in default["notes"][0]
    assert "8,192 in flight" in answer(*plain, "--host", "h100-server")["notes"][0]
    assert answer(*plain, "--block-size", "64")["block_tokens"] == 64
    states = ("kv", "--model", "qwen3.6-27b", "--engine", "vllm@0.26", "--max-model-len", "8192", "--pool-gib", "31.24")
    aligned, single = answer(*states), answer(*states, "--no-enable-prefix-caching")
    assert (aligned["pool"]["blocks"], aligned["block_tokens"]) == (652, 784)
    assert aligned["kv_bytes_fixed_per_sequence"] == 2 * single["kv_bytes_fixed_per_sequence"]


def test_layers_that_vllm_has_no_rule_for_end_with_3() -> None:
    done = kvplan("kv", "--model", "llama3.2-11b-vision", "--engine", "vllm@0.21")
    assert (done.code, done.out) == (3, "")
    assert "cross-attention is modelled for Whisper" in done.err


def test_drafts_bring_their_own_kv() -> None:
    base = ("kv", "--model", "llama3-70b", "--tp", "2", "--engine", "vllm@0.20", "--speculative-config")
    assert answer(*base, '{"model": "llama3.2-3b", "num_speculative_tokens": 4}')["kv_bytes_per_token"] == 221184
    assert answer(*base, '{"method": "eagle3", "model": "a/b"}')["kv_bytes_per_token"] == 81 * 2048
    assert answer(*base, '{"method": "ngram", "num_speculative_tokens": 4}')["kv_bytes_per_token"] == 80 * 2048
    unknown = kvplan(*base, '{"model": "someone/draft-1b", "num_speculative_tokens": 4}')
    assert unknown.code == 3
    assert "draft model 'someone/draft-1b' is not known" in unknown.err


@pytest.mark.parametrize("columns", [80, 160])
def test_golden_of_vllm(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    hybrid = ("kv", "--model", "gemma3-27b", "--engine", "vllm@0.21", "--max-model-len", "32768", "--pool-gib", "20")
    check_golden(f"kv-vllm-{columns}.txt", kvplan(*hybrid).out)


def test_golden_of_vllm_in_markdown() -> None:
    hybrid = ("kv", "--model", "gemma3-27b", "--engine", "vllm@0.21", "--max-model-len", "32768", "--pool-gib", "20")
    check_golden("kv-vllm.md", kvplan(*hybrid, "--format", "markdown").out)
