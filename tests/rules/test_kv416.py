from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, pod, serve, toml


@pytest.mark.parametrize(("line", "advice"), [
    ("max_model_length = 8192", "did you mean max_model_len?"),
    ("kv_cach_dtype = 'fp8'", "did you mean kv_cache_dtype?"),
    ("users = 8", "it belongs into [workload]"),
])  # fmt: skip
def test_a_key_that_nothing_reads(tmp_path: Path, line: str, advice: str) -> None:
    item = only(tmp_path, toml(f"[settings]\n{line}"), "KV416", "a.toml")
    assert (item.level, item.remedy) == ("fail", advice)
    assert item.where.endswith("a.toml:8")


def test_keys_that_are_read(tmp_path: Path) -> None:
    text = toml("[settings]\ntensor-parallel-size = 1\nmax_num_seqs = 64\n[neighbours]\ntenants = 2")
    assert found(tmp_path, text, "KV416", "a.toml") == []


@pytest.mark.parametrize("body", [
    "[settings]\ntp = 'two'", "[workload]\nusers = -4", "[workload]\nusers = 2.5", "[settings]\ntp = true",
    "[settings]\ngpu_memory_utilization = nan", "[settings]\ncpu_offload_gb = inf", "[settings]\nblock_size = [16]",
    "[workload]\ncontext = 'much'", "settings = 3", "[objectives]\nmargin = 7",
    "[settings]\nmax_model_len = 2026-01-01",
])  # fmt: skip
def test_values_of_the_wrong_kind(tmp_path: Path, body: str) -> None:
    items = found(tmp_path, toml(body), "KV416", "a.toml")
    assert [item.level for item in items] == ["fail"]


def test_a_misspelt_strategy_or_engine(tmp_path: Path) -> None:
    assert "kv-fp8" in str(only(tmp_path, toml("", 'strategy = "kv-fp9"'), "KV416", "a.toml").remedy)
    assert "vllm" in str(only(tmp_path, toml("", 'engine = "vlm"'), "KV416", "a.toml").remedy)


def test_a_flag_without_its_value(tmp_path: Path) -> None:
    assert only(tmp_path, serve("llama3-8b --max-model-len"), "KV416", host="h100-server").level == "fail"


def test_numbers_that_json_has_not_are_still_json(tmp_path: Path) -> None:
    from kvplan.render.json_text import render

    assert '"nan"' in render(checked(tmp_path, toml("[settings]\ngpu_memory_utilization = nan"), "a.toml"))


@pytest.mark.parametrize(("body", "line"), [
    ("[settings]\ngpu_memory_utilization = 1.5", 8), ("[workload]\n\nusers = 0", 9), ("[objectives]\nitl_ms = -1", 8),
    ("[neighbours]\ncpu_cores = -1", 8), ("[host_overrides]\ndram_gib = -4", 8), ("[settings]\nmax_num_seqs = 0", 8),
])  # fmt: skip
def test_a_value_out_of_range_is_named_by_its_line(tmp_path: Path, body: str, line: int) -> None:
    item = only(tmp_path, toml(body), "KV416", "a.toml")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("fail", str(line))


@pytest.mark.parametrize("written", ["1.5", "nan", "-1", "\u00b2", "9" * 5000])
def test_gpus_that_are_no_whole_number(tmp_path: Path, written: str) -> None:
    text = pod("--model=llama3-8b", f"nvidia.com/gpu: {written}")
    item = only(tmp_path, text, "KV416", "pod.yaml", "h100-server")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("fail", "12")
    assert found(tmp_path, pod("--model=llama3-8b"), "KV416", "pod.yaml", "h100-server") == []


@pytest.mark.parametrize(("context", "message"), [
    ("p50=4k,p95=32k", "states no max"), ("p50=4k,p50=8k,max=32k", "states p50 twice"),
    ("p50=4k,max=32k,mean=1k", "can't be: with these quantiles"), ("absent.jsonl", "absent.jsonl: can't be read"),
    ("x=y", "x must look like"),
])  # fmt: skip
def test_a_spread_of_lengths_that_can_not_be(tmp_path: Path, context: str, message: str) -> None:
    item = only(tmp_path, toml(f"[workload]\nusers = 4\ncontext = '{context}'"), "KV416", "a.toml")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("fail", "9")
    assert message in item.message


def test_a_method_is_one_of_the_strategy_that_is_judged(tmp_path: Path) -> None:
    retrieve = 'strategy = "offload-retrieve"\nmethod = '
    assert found(tmp_path, toml("", f'{retrieve}"shadowkv"'), "KV416", "a.toml") == []
    assert "shadowkv" in str(only(tmp_path, toml("", f'{retrieve}"shadowkw"'), "KV416", "a.toml").remedy)
    assert "offload-cpu-attention" in only(tmp_path, toml("", f'{retrieve}"magicpig"'), "KV416", "a.toml").message


def test_what_drafts_is_read(tmp_path: Path) -> None:
    table = '[settings]\nspeculative_config = { method = "ngram", num_speculative_tokens = 2 }'
    assert found(tmp_path, toml(table), "KV416", "a.toml") == []
    assert only(tmp_path, toml(table.replace("= 2", "= 900")), "KV416", "a.toml").level == "fail"
