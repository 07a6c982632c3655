from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod

ARGS = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"


@pytest.mark.parametrize(("limit", "enough"), [("2", False), ("500m", False), ("4", False), ("6", True), ("10", True)])
def test_a_limit_counts_logical_cpus(tmp_path: Path, limit: str, enough: bool) -> None:
    """vLLM keeps 2 cores and one for each GPU busy: 3 cores, 6 logical CPUs."""
    items = found(tmp_path, pod(ARGS, f"nvidia.com/gpu: 1, cpu: {limit}"), "KV303", "pod.yaml", host="h100-server")
    if enough:
        assert items == []
    else:
        assert [item.level for item in items] == ["warn"]
        assert items[0].where.endswith("pod.yaml:13")
        assert items[0].remedy == "a CPU limit of 6"


def test_without_a_limit_the_hosts_cores_count(tmp_path: Path) -> None:
    assert found(tmp_path, pod(ARGS), "KV303", "pod.yaml", host="h100-server") == []


def test_ranks_of_data_parallelism_have_servers_of_their_own(tmp_path: Path) -> None:
    """vLLM's page on CPU resources: servers + ranks + GPUs + 1: 4 + 4 + 4 + 1 cores."""
    args = f"{ARGS}\n--data-parallel-size=4"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 4, cpu: 24"), "KV303", "pod.yaml", "h100-server")
    assert (item.level, item.remedy) == ("warn", "a CPU limit of 26")
    assert found(tmp_path, pod(args, "nvidia.com/gpu: 4, cpu: 26"), "KV303", "pod.yaml", "h100-server") == []


def test_a_gpu_alone_is_enough_to_count(tmp_path: Path) -> None:
    text = pod(ARGS, "nvidia.com/gpu: 2, cpu: 2")
    text = text.replace("  containers:", "  nodeSelector:\n    nvidia.com/gpu.product: NVIDIA-L4\n  containers:")
    assert only(tmp_path, text, "KV303", "pod.yaml").level == "warn"


@pytest.mark.parametrize(("limit", "level"), [("2", "fail"), ("5", "fail"), ("8", "warn"), ("13", None)])
def test_the_engine_for_cpus_computes_on_them(tmp_path: Path, limit: str, level: str | None) -> None:
    """kubernetes-sigs/gateway-api-inference-extension#464: endless under 5 CPUs, 58 s at 5, 1 s at 13."""
    image = "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.8.0"
    text = pod("--model=Qwen/Qwen2.5-1.5B-Instruct", f"cpu: {limit}", image)
    text = text.replace("    args:", "    command: [vllm, serve]\n    args:")
    assert [item.level for item in found(tmp_path, text, "KV303", "pod.yaml")] == ([level] if level else [])


def test_a_smaller_model_may_be_fast_enough(tmp_path: Path) -> None:
    """Committed pods serve TinyLlama (1.1B) on 2 CPUs; how long that takes was not published."""
    text = pod("--model=TinyLlama/TinyLlama-1.1B-Chat-v1.0", "cpu: 2", "vllm/vllm-openai-cpu:v0.23.0")
    assert only(tmp_path, text, "KV303", "pod.yaml").level == "warn"


def test_ranks_are_counted_without_a_model_or_a_host(tmp_path: Path) -> None:
    """A committed vLLM pod of two ranks with cpu: 2, and one that only requests one."""
    args = "--model=/models/own\n--tensor-parallel-size=2"
    assert only(tmp_path, pod(args, "nvidia.com/gpu: 2, cpu: 2"), "KV303", "pod.yaml").level == "warn"
    assert found(tmp_path, pod(args, "nvidia.com/gpu: 2, cpu: 8"), "KV303", "pod.yaml") == []
