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


def test_ollama_fits_itself_to_what_is_free(tmp_path: Path) -> None:
    """A committed compose file with OLLAMA_GPU_LAYERS: no effect, and nothing that fails; said once."""
    text = """services:
  ollama:
    image: ollama/ollama:0.32.15
    environment: [OLLAMA_GPU_LAYERS=18]
"""
    assert only(tmp_path, text, "KV401", "compose.yaml").level == "warn"
    assert found(tmp_path, text, "KV416", "compose.yaml") == []
