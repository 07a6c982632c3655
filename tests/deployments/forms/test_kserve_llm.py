from __future__ import annotations

import json

import tests.deployments.kit as kit

SERVICE = """apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata:
  name: chat
spec:
  model:
    uri: hf://Qwen/Qwen2.5-7B-Instruct
    name: qwen
  parallelism:
    data: 16
    dataLocal: 8
    expert: true
    tensor: 1
  template:
    containers:
      - name: main
        image: vllm/vllm-openai:v0.19.1
        env:
          - name: UTIL
            value: "0.9"
          - name: VLLM_ADDITIONAL_ARGS
            value: >-
              --gpu-memory-utilization $(UTIL)
              --max-model-len 8192
              --enforce-eager
        resources:
          requests: {cpu: "4", memory: 32Gi}
          limits: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "8"}
    volumes:
      - name: shm
        emptyDir: {medium: Memory, sizeLimit: 40Gi}
  worker:
    containers:
      - name: main
  prefill:
    template:
      containers:
        - name: main
          env: [{name: VLLM_ADDITIONAL_ARGS, value: "--max-num-seqs 8"}]
          resources:
            limits: {nvidia.com/gpu: "1"}
"""

OFFLOAD = """apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: tiered}
spec:
  model: {uri: "hf://Qwen/Qwen2.5-7B-Instruct"}
  template:
    containers:
      - name: main
        resources: {limits: {memory: 64Gi, nvidia.com/gpu: "1"}}
  workload:
    kvCacheOffloading:
      cpu: 10Gi
"""


def test_flags_in_a_variable_and_in_fields() -> None:
    item = kit.read(SERVICE, "chat.yaml")[0][0]
    assert {
        "model": "Qwen/Qwen2.5-7B-Instruct", "dp": "16", "dp_local": "8", "tp": "1", "enable_expert_parallel": True,
        "gpu_memory_utilization": "0.9", "max_model_len": "8192", "enforce_eager": True, "gpus": 8, "nodes": 2,
        "cpu_limit": "8", "cpu_request": "4", "memory_limit": "64Gi", "memory_request": "32Gi", "shm_size": "40Gi",
        "engine": "vllm@0.19.1",
    }.items() <= kit.values(item).items()  # fmt: skip
    lines = kit.lines(item)
    assert (lines["max_model_len"], lines["enforce_eager"], lines["dp"], lines["model"]) == (24, 25, 10, 7)


def test_prefill_is_a_deployment_of_its_own() -> None:
    item = kit.read(SERVICE, "chat.yaml")[0][1]
    assert item.name == "chat-prefill"
    assert {"model": "Qwen/Qwen2.5-7B-Instruct", "max_num_seqs": "8", "gpus": 1}.items() <= kit.values(item).items()


def test_the_host_tier_is_a_connector_with_so_many_bytes() -> None:
    item = kit.one(OFFLOAD, "tiered.yaml")
    assert item.value("offload_bytes") == 10 * 2**30
    assert json.loads(str(item.value("kv_transfer_config")))["kv_connector"] == "OffloadingConnector"
    assert kit.lines(item)["offload_bytes"] == 12
    assert [(question.name, question.stops) for question in item.unresolved] == [("shm_size", False)]
    top = OFFLOAD.replace("  workload:\n    kvCacheOffloading:\n      cpu", "  kvCacheOffloading:\n    cpu")
    assert kit.one(top, "tiered.yaml").value("offload_bytes") == 10 * 2**30


def test_an_odd_amount_is_a_question() -> None:
    item = kit.one(OFFLOAD.replace("10Gi", "plenty"), "tiered.yaml")
    assert "offload_bytes" in kit.open_names(item)


def test_base_configurations() -> None:
    based = OFFLOAD.replace("  model:", "  baseRefs: [{name: team}]\n  model:")
    assert "arguments" in kit.open_names(kit.one(based, "a.yaml"))
    base = (
        "---\napiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceServiceConfig\nmetadata: {name: team}\n"
        "spec:\n  parallelism: {tensor: 2}\n"
    )
    item = kit.one(based + base, "a.yaml")
    assert (item.value("tp"), kit.open_names(item)) == ("2", ["shm_size"])


def test_a_volume_does_not_say_what_is_in_it() -> None:
    text = OFFLOAD.replace("hf://Qwen/Qwen2.5-7B-Instruct", "pvc://models/qwen")
    assert kit.one(text, "a.yaml").value("model") == "pvc://models/qwen"
    named = text.replace('qwen"}', 'qwen", name: Qwen/Qwen2.5-7B-Instruct}')
    assert kit.one(named, "a.yaml").value("model") == "Qwen/Qwen2.5-7B-Instruct"
