from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, serve, toml

QWEN = "Qwen/Qwen3-32B -tp 2 --max-model-len"


def test_beyond_the_models_positions(tmp_path: Path) -> None:
    """GoogleCloudPlatform/accelerated-platforms h100-qwen3-32b: 131072 asked, 40960 native positions."""
    item = only(tmp_path, serve(f"{QWEN} 131072"), "KV413", host="h100-server")
    assert item.level == "fail"
    assert item.figures == {"context_tokens": 131072, "max_context_tokens": 40960}
    assert item.remedy == "--max-model-len 40960"
    assert found(tmp_path, serve(f"{QWEN} 40960"), "KV413", host="h100-server") == []


@pytest.mark.parametrize("flag", [
    """--rope-scaling '{"rope_type": "yarn", "factor": 4.0}'""",
    """--hf-overrides '{"max_position_embeddings": 131072}'""",
])  # fmt: skip
def test_a_longer_rope_is_allowed(tmp_path: Path, flag: str) -> None:
    assert found(tmp_path, serve(f"{QWEN} 131072 {flag}"), "KV413", host="h100-server") == []


def test_the_variable_that_allows_it(tmp_path: Path) -> None:
    text = f"export VLLM_ALLOW_LONG_MAX_MODEL_LEN=1\nvllm serve {QWEN} 65536\n"
    assert found(tmp_path, text, "KV413", host="h100-server") == []


def test_a_workload_beyond_the_engines_length(tmp_path: Path) -> None:
    text = toml('[settings]\nmax_model_len = 8192\n[workload]\ncontext = "16k"')
    assert only(tmp_path, text, "KV413", "a.toml").where.endswith("a.toml:10")


def test_the_longest_of_a_spread_counts(tmp_path: Path) -> None:
    spread = "[workload]\nusers = 4\ncontext = 'p50=4k,p95=8k,max={}'"
    item = only(tmp_path, toml(spread.format("256k")), "KV413", "a.toml")
    assert item.figures == {"context_tokens": 262144, "max_context_tokens": 131072}
    limited = "[settings]\nmax_model_len = 8192\n" + spread
    assert "16,384 tokens" in only(tmp_path, toml(limited.format("16k")), "KV413", "a.toml").message
    assert found(tmp_path, toml(spread.format("128k")), "KV413", "a.toml") == []


def test_the_rest_is_judged_at_the_models_limit(tmp_path: Path) -> None:
    result = checked(tmp_path, serve(f"{QWEN} 131072"), host="h100-server")
    assert [item.rule for item in result.findings if item.level == "fail"] == ["KV413"]


def test_a_llama_server_starts_all_the_same(tmp_path: Path) -> None:
    """It warns that the training context is exceeded (llama-context.cpp), and does not refuse."""
    text = "llama-server -m Qwen3-8B-Q4_K_M.gguf -c {} -np 1\n"
    assert only(tmp_path, text.format(65536), "KV413", host="rtx5090").level == "warn"
    assert found(tmp_path, text.format(40960), "KV413", host="rtx5090") == []
