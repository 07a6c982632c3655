from pathlib import Path

from tests.rules.kit import found, only


def test_a_variable_that_vllm_does_not_read(tmp_path: Path) -> None:
    """vllm#10517: MAX_SEQUENCE_LENGTH=20000, and the engine took 131072."""
    text = "#!/bin/bash\nMAX_SEQUENCE_LENGTH=20000 vllm serve meta-llama/Llama-3.1-8B-Instruct\n"
    item = only(tmp_path, text, "KV401")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("fail", "2")
    assert "10517" in item.message
    assert found(tmp_path, text.replace("MAX_SEQUENCE_LENGTH=20000 ", "HF_HOME=/tmp "), "KV401") == []
    assert found(tmp_path, text.replace("-Instruct", "-Instruct --max-model-len 20000"), "KV401") == []


def test_a_default_is_no_answer_to_a_variable_that_nobody_reads(tmp_path: Path) -> None:
    """LMCACHE_CONFIG_PATH is not read, so that LMCache's 5 GiB hold; a size of its own settles it."""
    connector = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
    text = (
        f"export LMCACHE_CONFIG_PATH=/etc/lmcache.yaml\nvllm serve Qwen/Qwen3-8B --kv-transfer-config '{connector}'\n"
    )
    assert only(tmp_path, text, "KV401").level == "fail"
    assert found(tmp_path, f"export LMCACHE_MAX_LOCAL_CPU_SIZE=20\n{text}", "KV401") == []


def test_ollama_fits_itself_to_what_is_free(tmp_path: Path) -> None:
    """A committed compose file with OLLAMA_GPU_LAYERS: no effect, and nothing that fails; said once."""
    text = """services:
  ollama:
    image: ollama/ollama:0.32.15
    environment: [OLLAMA_GPU_LAYERS=18]
"""
    assert only(tmp_path, text, "KV401", "compose.yaml").level == "warn"
    assert found(tmp_path, text, "KV416", "compose.yaml") == []
