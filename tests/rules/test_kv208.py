from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod, serve, toml

SMALL = "Qwen/Qwen3-8B --max-model-len 16384"


@pytest.mark.parametrize(("utilization", "level"), [(0.97, "fail"), (0.87, "warn"), (0.7, "warn"), (0.5, None)])
def test_utilization_counts_all_memory(tmp_path: Path, utilization: float, level: str | None) -> None:
    """GB10: at 0.87 one kit had too little free and another enough; at 0.7 with large weights hosts froze (vllm#46307,
    #56824, GLM-5.3-Flash on two kits)."""
    model = SMALL if utilization != 0.7 else "openai/gpt-oss-120b --max-model-len 16384"
    text = serve(f"{model} --gpu-memory-utilization {utilization}", "0.20.0")
    assert [item.level for item in found(tmp_path, text, "KV208", host="dgx-spark")] == ([level] if level else [])


def test_a_containers_limit_does_not_bound_the_gpu(tmp_path: Path) -> None:
    """AEON-7 ultimate-dgx-spark#9: 124,258 of 124,546 MiB in use under a limit of 69 GiB."""
    args = "--model=Qwen/Qwen3-8B\n--max-model-len=16384\n--gpu-memory-utilization=0.4"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 1, memory: 69Gi"), "KV208", "pod.yaml", host="dgx-spark")
    assert item.level == "warn"
    assert "does not bound" in item.message


def test_two_memories_are_judged_apart(tmp_path: Path) -> None:
    assert found(tmp_path, serve(f"{SMALL} --gpu-memory-utilization 0.95"), "KV208", host="h100-server") == []


def test_a_pool_of_fixed_size_is_counted_as_it_is(tmp_path: Path) -> None:
    body = '[settings]\nmax_model_len = 16384\nkv_cache_memory_bytes = "20G"\n'
    text = toml(body, 'model = "qwen3-8b"\nhost = "dgx-spark"')
    assert found(tmp_path, text, "KV208", "a.toml") == []


def test_a_model_that_is_not_known_may_be_as_large_as_the_share(tmp_path: Path) -> None:
    """vllm#56824: 0.70 of GB10 with a model that no catalog has, NV_ERR_NO_MEMORY at start."""
    text = serve("org/never-heard-of-it --gpu-memory-utilization {}", "0.29.0")
    assert only(tmp_path, text.format(0.7), "KV208", host="dgx-spark").level == "warn"
    assert found(tmp_path, text.format(0.3), "KV208", host="dgx-spark") == []
