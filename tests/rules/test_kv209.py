from pathlib import Path

from tests.rules.kit import found, only, pod

OFFLOAD = "--model=meta-llama/Llama-3.1-8B-Instruct\n--kv-offloading-size=80"


def requesting(text: str, memory: str) -> str:
    return text.replace("    resources:\n", f"    resources:\n      requests: {{memory: {memory}}}\n")


def test_pinned_without_a_limit(tmp_path: Path) -> None:
    """Overlays of accelerated-platforms pin 80 to 160 GiB and ask for no memory at all."""
    assert only(tmp_path, pod(OFFLOAD), "KV209", "pod.yaml").level == "warn"
    limited = pod(OFFLOAD, "nvidia.com/gpu: 1, memory: 160Gi")
    assert found(tmp_path, limited, "KV209", "pod.yaml") == []


def test_pinned_beyond_the_request(tmp_path: Path) -> None:
    """LMCache's daemon set: a buffer of 60 GB, a request of 10Gi, a limit of 120Gi: the scheduler is blind."""
    text = requesting(pod(OFFLOAD, "nvidia.com/gpu: 1, memory: 160Gi"), "10Gi")
    item = only(tmp_path, text, "KV209", "pod.yaml")
    assert item.figures["request_bytes"] == 10 * 2**30
    assert (
        found(tmp_path, requesting(pod(OFFLOAD, "nvidia.com/gpu: 1, memory: 160Gi"), "160Gi"), "KV209", "pod.yaml")
        == []
    )


def test_a_request_alone_on_unified_memory(tmp_path: Path) -> None:
    """LLMKube#1724: the node had to be switched off and on."""
    text = requesting(pod("--model=Qwen/Qwen3-8B\n--gpu-memory-utilization=0.4"), "16Gi")
    assert only(tmp_path, text, "KV209", "pod.yaml", host="dgx-spark").level == "warn"
    assert found(tmp_path, text, "KV209", "pod.yaml", host="h100-server") == []
