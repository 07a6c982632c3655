from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod, toml

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


def test_attention_on_the_cpu_needs_its_cores(tmp_path: Path) -> None:
    body = '[workload]\ncontext = "64k"\nusers = 32\n[objectives]\nitl_ms = 20\n[host_overrides]\ncpu_cores = '
    top = 'strategy = "offload-cpu-attention"'
    assert only(tmp_path, toml(body + "4", top), "KV303", "a.toml").level == "fail"
    assert found(tmp_path, toml(body + "400", top), "KV303", "a.toml") == []
