from pathlib import Path

import pytest

from tests.rules.kit import found, only, pod

LLAMA = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"
MEMORY = """    volumeMounts:
    - {{name: shm, mountPath: /dev/shm}}
  volumes:
  - name: shm
    emptyDir: {{medium: Memory, sizeLimit: {size}}}
"""


def compose(flags: str, more: str, tag: str = "v0.28.0") -> str:
    """One service; docker gives it 64 MiB unless ``more`` says otherwise."""
    return (
        f"services:\n  chat:\n    image: vllm/vllm-openai:{tag}\n"
        f"    command: --model meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 {flags}\n{more}"
    )


@pytest.mark.parametrize(("size", "asked_gib", "level"), [("9663676416", "9.5", "fail"), ("10Gi", "9.5", None)])
def test_the_offload_region_lies_there(tmp_path: Path, size: str, asked_gib: str, level: str | None) -> None:
    """gpustack#5014: 10,200,547,328 bytes are needed, 9,663,676,416 are there."""
    text = pod(f"{LLAMA}\n--kv-offloading-size={asked_gib}", image="vllm/vllm-openai:v0.28.0")
    text += MEMORY.format(size=size)
    assert [item.level for item in found(tmp_path, text, "KV204", "pod.yaml")] == ([level] if level else [])


def test_before_that_change_it_does_not(tmp_path: Path) -> None:
    text = pod(f"{LLAMA}\n--kv-offloading-size=9.5", image="vllm/vllm-openai:v0.20.0") + MEMORY.format(size="1Gi")
    assert found(tmp_path, text, "KV204", "pod.yaml") == []


def test_a_version_that_is_not_named_may_have_it(tmp_path: Path) -> None:
    text = pod(f"{LLAMA}\n--kv-offloading-size=9.5", image="vllm/vllm-openai:latest") + MEMORY.format(size="1Gi")
    assert only(tmp_path, text, "KV204", "pod.yaml").level == "warn"


def test_ranks_need_more_than_a_containers_default(tmp_path: Path) -> None:
    """vllm#1710, #789: 64 MiB are not enough."""
    two = pod(f"{LLAMA}\n--tensor-parallel-size=2", "nvidia.com/gpu: 2")
    item = only(tmp_path, two, "KV204", "pod.yaml")
    assert item.level == "warn"
    assert "64 MiB" in item.message
    assert found(tmp_path, two + MEMORY.format(size="2Gi"), "KV204", "pod.yaml") == []
    assert found(tmp_path, pod(LLAMA), "KV204", "pod.yaml") == []


def test_docker_says_how_much_it_gives(tmp_path: Path) -> None:
    small = compose("-tp 2", "    shm_size: 64m\n")
    assert only(tmp_path, small, "KV204", "docker-compose.yml").level == "fail"
    assert found(tmp_path, compose("-tp 2", "    ipc: host\n"), "KV204", "docker-compose.yml") == []
