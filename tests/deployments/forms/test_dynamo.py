from __future__ import annotations

import tests.deployments.kit as kit
from kvplan.deployments.forms.dynamo import DEFAULT_SHM

ALPHA = """apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: split
  annotations:
    kvplan.dev/ignore.KV209: "requests come from the operator"
spec:
  envs:
    - name: LENGTH
      value: "16384"
  services:
    Frontend:
      componentType: frontend
      extraPodSpec:
        mainContainer:
          image: registry/frontend:1
          command: [python3, -m, dynamo.frontend]
    Decode:
      componentType: worker
      replicas: 2
      multinode:
        nodeCount: 2
      resources:
        requests:
          memory: 200Gi
        limits:
          gpu: "4"
          cpu: "32"
      sharedMemory:
        size: 80Gi
      extraPodSpec:
        nodeSelector:
          nvidia.com/gpu.product: NVIDIA-H200
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0
          command: [python3, -m, dynamo.vllm]
          args:
            - --model
            - Qwen/Qwen3-32B
            - --tensor-parallel-size=8
            - --max-model-len
            - $(LENGTH)
            - --is-decode-worker
    Prefill:
      resources:
        limits:
          gpu: "1"
      extraPodSpec:
        mainContainer:
          command: [/bin/sh, -c]
          args:
            - |
              export TP=1
              exec python3 -m dynamo.vllm \\
                --model Qwen/Qwen3-32B \\
                --tensor-parallel-size $TP \\
                --is-prefill-worker
"""

BETA = """apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: whole}
spec:
  components:
    - name: Worker
      type: worker
      sharedMemorySize: 64Gi
      podTemplate:
        spec:
          containers:
            - name: sidecar
              image: registry/sidecar:1
              command: [dynamo-sidecar]
            - name: engine
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.0
              command: [python3, -m, dynamo.vllm]
              args: [--config, /etc/vllm/worker.yaml, --max-num-seqs, "64"]
              volumeMounts:
                - {name: engine, mountPath: /etc/vllm}
              resources:
                limits: {nvidia.com/gpu: "4", memory: 128Gi}
          volumes:
            - name: engine
              configMap: {name: engine}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: engine}
data:
  worker.yaml: |-
    # what the worker is told
    model: Qwen/Qwen3-32B
    tensor-parallel-size: 4
    max-num-seqs: 16
"""


def test_each_worker_of_the_services_is_a_deployment() -> None:
    found, faults = kit.read(ALPHA, "graph.yaml")
    assert [item.name for item in found] == ["split-Decode", "split-Prefill"]
    assert not faults
    assert {
        "model": "Qwen/Qwen3-32B", "tp": "8", "max_model_len": "16384", "gpus": 4, "nodes": 2, "replicas": 2,
        "cpu_limit": "32", "memory_request": "200Gi", "shm_size": "80Gi", "gpu_product": "NVIDIA-H200",
    }.items() <= kit.values(found[0]).items()  # fmt: skip
    assert {"shm_size": 30, "gpus": 27, "nodes": 22, "max_model_len": 10}.items() <= kit.lines(found[0]).items()
    assert found[0].annotations["kvplan.dev/ignore.KV209"].value == "requests come from the operator"


def test_a_shell_starts_the_worker() -> None:
    item = kit.read(ALPHA, "graph.yaml")[0][1]
    assert {"model": "Qwen/Qwen3-32B", "tp": "1", "gpus": 1, "shm_size": DEFAULT_SHM}.items() <= kit.values(
        item
    ).items()
    assert kit.lines(item)["tp"] == 53


def test_components_and_the_engines_file_in_a_config_map() -> None:
    item = kit.one(BETA, "graph.yaml")
    assert item.name == "whole-Worker"
    assert {
        "model": "Qwen/Qwen3-32B", "tp": "4", "max_num_seqs": "64", "gpus": 4, "memory_limit": "128Gi",
        "shm_size": "64Gi",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert (kit.lines(item)["model"], kit.lines(item)["max_num_seqs"]) == (33, 18)


def test_a_file_that_is_not_there_is_a_question() -> None:
    text = BETA.partition("---")[0]
    item = kit.read(text, "graph.yaml")[0][0]
    assert kit.open_names(item) == ["arguments"]
    assert "/etc/vllm/worker.yaml" in item.unresolved[0].text


def test_other_objects_of_the_file_are_read_as_well() -> None:
    pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - command: [vllm, serve, m]\n"
    found, _ = kit.read(ALPHA + pod, "all.yaml")
    assert [(item.name, item.form) for item in found] == [
        ("split-Decode", "dynamo"), ("split-Prefill", "dynamo"), ("p", "kubernetes"),
    ]  # fmt: skip
