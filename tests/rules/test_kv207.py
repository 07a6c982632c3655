from pathlib import Path

from tests.rules.kit import found, only, pod, serve
from tests.rules.test_kv201 import LLAMA, host


def test_page_cache_counts_in_a_limit(tmp_path: Path) -> None:
    """vllm#3035: some 28 GB of a checkpoint's pages in a container of 32G."""
    args = "--model=Qwen/Qwen2.5-14B-Instruct\n--max-model-len=4096"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 1, memory: 32G"), "KV207", "pod.yaml", host="h100-server")
    assert item.level == "warn"
    assert 27e9 < item.figures["weight_bytes"] < 31e9
    large = pod(args, "nvidia.com/gpu: 1, memory: 64Gi")
    assert found(tmp_path, large, "KV207", "pod.yaml", host="h100-server") == []


def test_pinning_takes_time(tmp_path: Path) -> None:
    """TensorRT-LLM#17773: 12 minutes for 700 GB."""
    text = serve(f"{LLAMA} --kv-offloading-size 650", "0.28.0")
    item = only(tmp_path, text, "KV207", host=host(tmp_path, "h100", 8, 2048))
    assert 9 * 60 < item.figures["pin_s"] < 15 * 60
    assert (
        found(tmp_path, serve(f"{LLAMA} --kv-offloading-size 100"), "KV207", host=host(tmp_path, "h100", 8, 2048)) == []
    )
