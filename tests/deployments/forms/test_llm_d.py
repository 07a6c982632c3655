from __future__ import annotations

import tests.deployments.kit as kit
from kvplan.deployments.controllers.resources import CONTAINER_SHM

VALUES = """multinode: false
modelArtifacts:
  name: facebook/opt-125m
  uri: hf://"{{ .Values.modelArtifacts.name }}"
decode:
  create: true
  replicas: 2
  parallelism:
    tensor: 2
    dataLocal: 4
    workers: 2
  acceleratorTypes:
    labelKey: nvidia.com/gpu.product
    labelValues: [NVIDIA-H100-80GB-HBM3]
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d:v0.2.0
    modelCommand: vllmServe
    args:
      - "--enforce-eager"
      - "--max-model-len"
      - "8192"
    resources:
      limits: {memory: 64Gi, cpu: "16"}
prefill:
  create: true
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d:v0.2.0
    modelCommand: custom
    command: ["/bin/sh", "-c"]
    args: ["exec vllm serve Qwen/Qwen3-8B --max-num-seqs 8"]
    resources:
      limits: {nvidia.com/gpu: "1"}
"""


def test_the_chart_writes_model_and_layout() -> None:
    item = kit.read(VALUES, "ms.yaml")[0][0]
    assert item.name == "ms-decode"
    assert {
        "model": "facebook/opt-125m", "tp": "2", "dp": "8", "dp_local": "4",
        "enforce_eager": True, "max_model_len": "8192", "gpus": 8, "nodes": 2, "replicas": 2, "memory_limit": "64Gi",
        "cpu_limit": "16", "gpu_product": "NVIDIA-H100-80GB-HBM3", "shm_size": CONTAINER_SHM,
    }.items() <= kit.values(item).items()  # fmt: skip
    assert (kit.lines(item)["gpus"], kit.lines(item)["dp"], kit.lines(item)["model"]) == (9, 10, 3)


def test_a_command_of_ones_own() -> None:
    item = kit.read(VALUES, "ms.yaml")[0][1]
    assert {"model": "Qwen/Qwen3-8B", "max_num_seqs": "8", "gpus": 1}.items() <= kit.values(item).items()


def test_gpus_are_computed_only_where_none_are_named() -> None:
    named = VALUES.replace('limits: {memory: 64Gi, cpu: "16"}', 'limits: {nvidia.com/gpu: "4"}')
    assert kit.read(named, "ms.yaml")[0][0].value("gpus") == 4
    without = VALUES.replace("    tensor: 2\n    dataLocal: 4\n    workers: 2\n", "    tensor: 1\n")
    assert kit.read(without, "ms.yaml")[0][0].value("gpus") == 1
    processor = "accelerator:\n  type: cpu\n" + VALUES
    assert kit.read(processor, "ms.yaml")[0][0].value("gpus") is None


def test_data_over_workers() -> None:
    """The chart: dataLocal is data over workers where it is missing."""
    text = VALUES.replace("    dataLocal: 4\n", "    data: 8\n")
    item = kit.read(text, "ms.yaml")[0][0]
    assert (item.value("dp"), item.value("dp_local"), item.value("gpus")) == ("8", "4", 8)


def test_parts_that_are_switched_off() -> None:
    found, _ = kit.read(VALUES.replace("prefill:\n  create: true", "prefill:\n  create: false"), "ms.yaml")
    assert [item.name for item in found] == ["ms-decode"]


def test_a_model_on_a_volume() -> None:
    cached = VALUES.replace('hf://"{{ .Values.modelArtifacts.name }}"', "pvc+hf://claim/hub/meta-llama/Llama-3.1-8B")
    assert kit.read(cached, "ms.yaml")[0][0].value("model") == "meta-llama/Llama-3.1-8B"
