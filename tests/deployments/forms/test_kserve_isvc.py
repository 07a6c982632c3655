from __future__ import annotations

from pathlib import Path

import tests.deployments.kit as kit
from kvplan.deployments.forms import form_of
from kvplan.deployments.interface import Source
from kvplan.deployments.source_files import Tree, read_source

SERVICE = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: llama}
spec:
  predictor:
    nodeSelector:
      node.kubernetes.io/instance-type: g5.8xlarge
    model:
      runtime: team-vllm
      modelFormat: {name: vLLM}
      storageUri: hf://meta-llama/Llama-3.1-8B-Instruct
      args:
        - --max-model-len=8192
        - --enforce-eager
      resources:
        limits: {cpu: "24", memory: 48Gi, nvidia.com/gpu: "1"}
"""

RUNTIME = """apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: team-vllm}
spec:
  containers:
    - name: kserve-container
      image: vllm/vllm-openai:v0.11.0
      command: [python3, -m, vllm.entrypoints.openai.api_server]
      args:
        - --model=/mnt/models
        - --gpu-memory-utilization=0.92
        - --max-model-len=4096
      volumeMounts: [{name: devshm, mountPath: /dev/shm}]
  volumes:
    - name: devshm
      emptyDir: {medium: Memory, sizeLimit: 2Gi}
"""


def test_a_predictor_without_its_runtime() -> None:
    item = kit.one(SERVICE, "isvc.yaml")
    assert {
        "model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": "8192", "enforce_eager": True, "gpus": 1,
        "cpu_limit": "24", "memory_limit": "48Gi", "instance_type": "g5.8xlarge",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert [(question.name, question.text, question.stops) for question in item.unresolved] == [
        ("arguments", "team-vllm", False)
    ]


def test_the_runtimes_arguments_come_first() -> None:
    found, faults = kit.read(SERVICE + "---\n" + RUNTIME, "isvc.yaml")
    assert not faults
    assert len(found) == 1
    item = found[0]
    assert {
        "model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": "8192", "gpu_memory_utilization": "0.92",
        "engine": "vllm@0.11.0", "shm_size": "2Gi",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert not item.unresolved


def test_a_runtime_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "isvc.yaml").write_text(SERVICE)
    (tmp_path / "runtime.yaml").write_text(RUNTIME)
    path = str(tmp_path / "isvc.yaml")
    source = read_source(path, tree=Tree(path))
    assert isinstance(source, Source)
    form = form_of(source)
    assert form is not None
    item = form.read(source).deployments[0]
    where = item.settings["gpu_memory_utilization"].place
    assert (item.value("gpu_memory_utilization"), where.path.endswith("runtime.yaml"), where.line) == ("0.92", True, 11)


def test_a_runtime_alone_is_no_deployment() -> None:
    assert kit.read(RUNTIME, "runtime.yaml") == ([], [])
    named = RUNTIME.replace("/mnt/models", "Qwen/Qwen3-8B")
    assert kit.one(named, "runtime.yaml").value("model") == "Qwen/Qwen3-8B"


def test_kserves_own_server() -> None:
    text = SERVICE.replace("team-vllm", "kserve-huggingfaceserver").replace("vLLM", "huggingface")
    text = text.replace("--enforce-eager", "--model_name=chat").replace("hf://meta-llama/Llama-3.1-8B-Instruct", "")
    text = text.replace("--model_name=chat", "--model_name=chat\n        - --model_id=Qwen/Qwen3-8B")
    item = kit.one(text, "isvc.yaml")
    assert item.value("model") == "Qwen/Qwen3-8B"
    assert not item.complaints


def test_other_predictors() -> None:
    plain = SERVICE.replace("team-vllm", "sklearn-server").replace("vLLM", "sklearn")
    found, faults = kit.read(plain.replace(', nvidia.com/gpu: "1"', ""), "isvc.yaml")
    assert (found, faults) == ([], [])
    found, faults = kit.read(plain, "isvc.yaml")
    assert not found
    assert "sklearn-server" in faults[0].message


def test_several_pods() -> None:
    text = SERVICE.replace(
        "    model:\n", "    workerSpec: {pipelineParallelSize: 2, tensorParallelSize: 8}\n    model:\n"
    )
    assert {"pp": 2, "tp": 8, "nodes": 2}.items() <= kit.values(kit.one(text, "isvc.yaml")).items()


def test_a_container_of_its_own() -> None:
    text = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own}\nspec:\n  predictor:\n"
        "    containers:\n      - image: vllm/vllm-openai:v0.11.0\n        args: [--model, m, -tp, '2']\n"
        "        resources: {limits: {nvidia.com/gpu: '2'}}\n"
    )
    assert {"model": "m", "tp": "2", "gpus": 2}.items() <= kit.values(kit.one(text, "isvc.yaml")).items()
