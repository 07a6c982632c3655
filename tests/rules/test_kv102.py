from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, pod, serve, toml

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"

# Refusals and pools that vLLM printed, from public threads and logs: flags, version, host, tokens asked for and held
PRINTED = {
    "Graph-COM/SubgraphRAG#19, RTX 3090": (LLAMA, "0.6.3", "rtx3090", 131072, 39024),
    "start-up log of 0.7, A10G, fewer sequences than the default": (
        f"{LLAMA} --max-num-seqs 16", "0.7.3", "g5.xlarge", 131072, 37696),
}  # fmt: skip

# The same threads print what one request needs: flags, host, GiB
NEEDS = {
    "vllm-project/tpu-inference#223, 128 KiB a token": (LLAMA, "rtx3090", 16.00),
    "Qwen3-8B geometry at its own limit": ("Qwen/Qwen3-8B", "rtx3090", 5.62),
    "vllm-project/vllm#25350, FP8 KV": (
        "Qwen/Qwen3-30B-A3B-Instruct-2507 --quantization fp8 --kv-cache-dtype fp8 --max-model-len 221000",
        "l40s-server", 10.12),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_known_refusals_are_foreseen(tmp_path: Path, name: str) -> None:
    flags, version, host, asked, held = PRINTED[name]
    item = only(tmp_path, serve(flags, version), "KV102", host=host)
    assert item.level == "fail"
    assert item.figures["context_tokens"] == asked
    assert item.figures["longest_tokens"]["low"] <= held <= item.figures["longest_tokens"]["high"]


@pytest.mark.parametrize("name", NEEDS)
def test_the_need_is_that_of_the_engines_own_message(tmp_path: Path, name: str) -> None:
    flags, host, gib = NEEDS[name]
    item = only(tmp_path, serve(flags, "0.19.0"), "KV102", host=host)
    assert abs(item.figures["needed_bytes"]["best"] / 2**30 - gib) < 0.006


def test_the_remedy_fits_without_a_warning(tmp_path: Path) -> None:
    item = only(tmp_path, serve(f"{LLAMA} --max-model-len 100000"), "KV102", host="rtx3090")
    flag = str(item.remedy).partition(" or ")[0]
    assert flag.startswith("--max-model-len ")
    for rule in ("KV102", "KV104"):
        assert found(tmp_path, serve(f"{LLAMA} {flag}"), rule, host="rtx3090") == []


def test_the_line_is_that_of_the_length(tmp_path: Path) -> None:
    text = f"vllm serve {LLAMA} \\\n  --dtype auto \\\n  --max-model-len 65536\n"
    assert only(tmp_path, text, "KV102", host="rtx3090").where.endswith(":3")


def test_without_a_length_the_model_is_to_blame(tmp_path: Path) -> None:
    item = only(tmp_path, pod(f"--model\n{LLAMA}"), "KV102", "pod.yaml", host="rtx3090")
    assert item.where.endswith("pod.yaml:11")
    assert "the model's own limit" in item.message
    assert item.figures["users"] == 1


@pytest.mark.parametrize("length", ["-1", "auto"])
def test_a_length_that_the_engine_fits_itself_always_fits(tmp_path: Path, length: str) -> None:
    assert found(tmp_path, serve(f"{LLAMA} --max-model-len {length}"), "KV102", host="rtx3090") == []


def test_offloading_idle_kv_does_not_change_it(tmp_path: Path) -> None:
    """vllm-project/vllm#23087: a running request keeps all its KV on the GPU."""
    plain = only(tmp_path, serve(LLAMA, "0.21.0"), "KV102", host="rtx4090")
    offloaded = only(tmp_path, serve(f"{LLAMA} --kv-offloading-size 40", "0.21.0"), "KV102", host="rtx4090")
    assert plain.figures["longest_tokens"] == offloaded.figures["longest_tokens"]


def test_without_the_hybrid_manager_windows_cost_as_much_as_full_layers(tmp_path: Path) -> None:
    """vllm-project/vllm#41830: an offload flag switched it off, and one request no longer fitted."""
    flags = "google/gemma-3-27b-it --max-model-len 131072"
    assert found(tmp_path, serve(f"{flags} -tp 2"), "KV102", host="l40s-server") == []
    assert only(tmp_path, serve(f"{flags} -tp 2 --disable-hybrid-kv-cache-manager"), "KV102", host="l40s-server")


def test_an_8_bit_cache_holds_twice_as_much(tmp_path: Path) -> None:
    flags = f"{LLAMA} --max-model-len 131072"
    native = only(tmp_path, serve(flags), "KV102", host="rtx4090").figures
    halved = only(tmp_path, serve(f"{flags} --kv-cache-dtype fp8"), "KV102", host="rtx4090").figures
    assert (native["kv_bytes_per_token"], halved["kv_bytes_per_token"]) == (131072, 65536)
    assert abs(halved["longest_tokens"]["best"] - 2 * native["longest_tokens"]["best"]) <= 32


def test_of_a_spread_of_lengths_the_longest_must_fit(tmp_path: Path) -> None:
    """Two users of 2k on average are nothing; one of 128k alone is 16 GiB of KV."""
    top = 'host = "rtx4090"\ngpus = 1'
    body = "[workload]\nusers = 2\ncontext = '{}'"
    item = only(tmp_path, toml(body.format("p50=1k,p95=2k,max=128k"), top), "KV102", "a.toml")
    assert (item.figures["context_tokens"], item.where.rsplit(":", 1)[1]) == (131072, "8")
    assert "(the workload's context)" in item.message
    assert found(tmp_path, toml(body.format("p50=1k,p95=2k,max=8k"), top), "KV102", "a.toml") == []


def test_a_trace_lies_beside_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text('{"input_length": 130000, "output_length": 50}\n')
    text = toml("[workload]\nusers = 2\ncontext = 'requests.jsonl'", 'host = "rtx4090"\ngpus = 1')
    assert only(tmp_path, text, "KV102", "a.toml").figures["context_tokens"] == 130050


def test_a_spread_is_judged_by_its_mean_and_its_longest(tmp_path: Path) -> None:
    """64 users of a mix that is 8,579 tokens on average fit where 64 of 128k do not."""
    body = "[workload]\nusers = 64\ncontext = '{}'"
    top = "model = \"llama3-70b\"\ngpus = 4\nstrategy = 'kv-fp8'"
    mixed, longest = (checked(tmp_path, toml(body.format(context), top), "a.toml").findings
                      for context in ("p50=4k,p95=32k,max=128k", "128k"))  # fmt: skip
    assert "fail" not in {item.level for item in mixed}
    assert "KV107" in {item.rule for item in longest}
