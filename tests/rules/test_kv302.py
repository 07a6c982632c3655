from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod

ARGS = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"
GUIDED = "nvidia.com/gpu: 1, cpu: 6"


def with_variable(text: str, name: str, value: str) -> str:
    return text.replace("    args:", f'    env: [{{name: {name}, value: "{value}"}}]\n    args:')


def test_a_limit_far_below_the_node_and_nothing_that_says_so(tmp_path: Path) -> None:
    """vllm#49460: a limit of 6 on a node of 172 CPUs; vllm#9113: OMP_NUM_THREADS was the cure."""
    item = only(tmp_path, pod(ARGS, GUIDED), "KV302", "pod.yaml", "h100-server")
    assert (item.level, item.remedy, item.where.rsplit(":", 1)[1]) == ("warn", "OMP_NUM_THREADS=6", "13")
    assert item.figures["node_cpus"] == 2 * 96


def test_it_is_known_without_a_host_too(tmp_path: Path) -> None:
    assert only(tmp_path, pod(ARGS, GUIDED), "KV302", "pod.yaml").level == "warn"


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "VLLM_CPU_OMP_THREADS_BIND"])
def test_a_stated_number_of_threads(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, with_variable(pod(ARGS, GUIDED), name, "6"), "KV302", "pod.yaml", "h100-server") == []


def test_no_limit_or_one_of_the_whole_node(tmp_path: Path) -> None:
    assert found(tmp_path, pod(ARGS), "KV302", "pod.yaml", "h100-server") == []
    assert found(tmp_path, pod(ARGS, "nvidia.com/gpu: 1, cpu: 192"), "KV302", "pod.yaml", "h100-server") == []


def test_several_ranks_of_vllm_count_for_themselves(tmp_path: Path) -> None:
    """vLLM pull request 6109: with several workers it sets OMP_NUM_THREADS to 1 where nobody else does."""
    args = f"{ARGS}\n--tensor-parallel-size=4"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 4, cpu: 24"), "KV302", "pod.yaml", "h100-server")
    assert item.level == "info"
    assert "grammars" in item.message
