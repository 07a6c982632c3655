from __future__ import annotations

import pytest

import tests.deployments.kit as kit

MODEL = """apiVersion: kubeai.org/v1
kind: Model
metadata:
  name: llama-70b
spec:
  features: [TextGeneration]
  url: hf://neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8
  engine: VLLM
  env:
    VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1"
  args:
    - --max-model-len=65536
    - --max-num-batched-token=65536
    - --gpu-memory-utilization=0.9
    - --tensor-parallel-size=2
  minReplicas: 1
  resourceProfile: nvidia-gpu-h100:2
"""

CATALOG = """catalog:
  small:
    enabled: true
    url: hf://Qwen/Qwen2.5-7B-Instruct
    engine: VLLM
    args: [--max-model-len=8192]
    resourceProfile: nvidia-gpu-l4:1
  off:
    enabled: false
    url: hf://Qwen/Qwen2.5-72B-Instruct
    engine: VLLM
    resourceProfile: nvidia-gpu-l4:8
"""


def test_a_model() -> None:
    item = kit.one(MODEL, "model.yaml")
    assert item.name == "llama-70b"
    assert {
        "model": "neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8", "max_model_len": "65536", "tp": "2", "gpus": 2,
        "max_num_batched_tokens": "65536", "gpu_memory_utilization": "0.9", "gpu_product": "H100", "replicas": 1,
        "shm_size": "host",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert (kit.lines(item)["gpus"], kit.lines(item)["model"]) == (17, 7)


@pytest.mark.parametrize(("profile", "product", "gpus"), [
    ("nvidia-gpu-a100-80gb:4", "A100-80GB", 4), ("nvidia-gpu-gh200", "GH200", 1), ("amd-gpu-mi300x:8", "MI300X", 8),
    ("nvidia-gpu-rtx4070-8gb:1", "RTX4070-8GB", 1), ("cpu:4", None, None),
])  # fmt: skip
def test_profiles_name_a_card(profile: str, product: str | None, gpus: int | None) -> None:
    item = kit.one(MODEL.replace("nvidia-gpu-h100:2", profile), "model.yaml")
    assert (item.value("gpu_product"), item.value("gpus")) == (product, gpus)


def test_a_profile_of_ones_own() -> None:
    item = kit.one(MODEL.replace("nvidia-gpu-h100:2", "big-box:8"), "model.yaml")
    assert (item.value("instance_type"), item.value("gpus")) == ("big-box:8", 8)


def test_other_engines() -> None:
    assert kit.read(MODEL.replace("engine: VLLM", "engine: FasterWhisper"), "model.yaml") == ([], [])
    found, faults = kit.read(MODEL.replace("engine: VLLM", "engine: Mystery"), "model.yaml")
    assert not found
    assert "Mystery" in faults[0].message


def test_the_charts_catalog() -> None:
    item = kit.one(CATALOG, "values.yaml")
    assert (item.name, item.value("gpu_product"), kit.lines(item)["max_model_len"]) == ("small", "L4", 6)
