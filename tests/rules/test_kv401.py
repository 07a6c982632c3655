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
