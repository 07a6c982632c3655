from pathlib import Path

import pytest

from tests.rules.kit import found, only, serve
from tests.rules.test_kv201 import LLAMA, host

GIB = 2**30


def test_buffers_of_old_versions_are_rounded_up(tmp_path: Path) -> None:
    """32 layers on four ranks: 128 buffers of 1.5625 GiB each take 2, as 24 of 2.0832 took 4 in vllm#53042."""
    text = serve(f"{LLAMA} -tp 4 --kv-offloading-size 200")
    item = only(tmp_path, text, "KV203", host=host(tmp_path, "h100", 4, 240))
    assert item.level == "fail"
    assert item.figures["kv_offloading_size_bytes"] == {"low": 256 * GIB, "best": 256 * GIB, "high": 256 * GIB}
    assert found(tmp_path, text, "KV201", host=host(tmp_path, "h100", 4, 240)) == []
    assert found(tmp_path, text, "KV203", host=host(tmp_path, "h100", 4, 512)) == []


@pytest.mark.parametrize(("version", "level"), [("0.28.0", None), ("0.26.0", "warn"), (None, "warn")])
def test_the_version_decides(tmp_path: Path, version: str | None, level: str | None) -> None:
    text = serve(f"{LLAMA} -tp 4 --kv-offloading-size 200", version)
    items = found(tmp_path, text, "KV203", host=host(tmp_path, "h100", 4, 300))
    assert [item.level for item in items] == ([level] if level else [])


# GiB asked, of the host, model, and whether it was killed
WEIGHTS = {
    "vllm#58185, Grace": (305, 494, "deepseek-ai/DeepSeek-V3"),
    "vllm-backport#67": (146.7, 196, "Qwen/Qwen3-235B-A22B"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_experts_in_host_memory_take_nearly_twice_their_size(tmp_path: Path, name: str) -> None:
    """Killed while loading, with 504 GiB taken for 305 and 260 for 146.7: the best estimate is over, and said so."""
    asked, there, model = WEIGHTS[name]
    text = serve(f"{model} --max-model-len 8192 --cpu-offload-gb {asked}", "0.20.0")
    item = only(tmp_path, text, "KV203", host=host(tmp_path, "h100", 1, there))
    assert item.level in ("fail", "warn")
    used = item.figures["cpu_offload_gb_bytes"]
    assert used["low"] <= {305: 504, 146.7: 260}[asked] * GIB <= used["high"]


def test_dense_weights_take_little_more(tmp_path: Path) -> None:
    """vllm#56410: 1.15 and 1.18 times."""
    text = serve("meta-llama/Llama-3.1-70B-Instruct --max-model-len 4096 --cpu-offload-gb 70", "0.20.0")
    assert found(tmp_path, text, "KV203", host=host(tmp_path, "h100", 1, 128)) == []
    item = only(tmp_path, text, "KV203", host=host(tmp_path, "h100", 1, 94))
    used = item.figures["cpu_offload_gb_bytes"]
    assert used["low"] <= 70 * 1.15 * GIB <= 70 * 1.18 * GIB <= used["high"]
