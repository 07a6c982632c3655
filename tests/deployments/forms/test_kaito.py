from __future__ import annotations

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.controllers.kaito_presets import azure_gpus, repository_of

WORKSPACE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: params
data:
  inference_config.yaml: |
    max_probe_steps: 6
    vllm:
      gpu-memory-utilization: 0.95
      swap-space: 4
      max-model-len: 16384
---
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata:
  name: llama
resource:
  count: 2
  instanceType: Standard_NC48ads_A100_v4
inference:
  preset:
    name: llama-3.3-70b-instruct
  config: params
"""
ALONE = WORKSPACE.partition("---\n")[2].replace("  config: params\n", "")
SMALL = ALONE.replace("llama-3.3-70b-instruct", "phi-4").replace("  count: 2\n", "")


def test_a_preset_over_machines() -> None:
    item = kit.one(WORKSPACE, "ws.yaml")
    assert {
        "model": "meta-llama/Llama-3.3-70B-Instruct", "gpu_memory_utilization": "0.95", "swap_space": "4",
        "max_model_len": "16384", "instance_type": "Standard_NC48ads_A100_v4", "gpus": 2, "nodes": 2, "tp": "2",
        "pp": "2", "shm_size": "host",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert (kit.lines(item)["swap_space"], kit.lines(item)["tp"]) == (10, 19)


def test_what_the_controller_adds() -> None:
    """KAITO PR 1326: LMCache has half of the free memory unless the file says otherwise."""
    item = kit.one(SMALL.replace("NC48", "NC24"), "ws.yaml")
    assert (item.value("max_model_len"), item.value("offload_host_fraction")) == ("auto", 0.5)
    assert (item.value("tp"), item.value("gpus")) == (None, 1)


def test_a_model_that_one_gpu_holds_is_copied() -> None:
    item = kit.one(SMALL, "ws.yaml")
    assert (item.value("dp"), item.value("tp"), item.value("offload_host_fraction")) == ("2", None, None)


def test_the_files_own_share_of_host_memory() -> None:
    text = WORKSPACE.replace("    max_probe_steps: 6\n", "    kv_cache_cpu_memory_utilization: 0.25\n")
    item = kit.one(text, "ws.yaml")
    assert (item.value("offload_host_fraction"), kit.lines(item)["offload_host_fraction"]) == ("0.25", 7)


def test_questions() -> None:
    assert kit.open_names(kit.one(WORKSPACE.replace("config: params", "config: other"), "a.yaml")) == ["arguments"]
    assert kit.open_names(kit.one(ALONE.replace("NC48ads_A100_v4", "X1"), "a.yaml")) == ["tp"]
    assert kit.open_names(kit.one(ALONE.replace("  instanceType: Standard_NC48ads_A100_v4\n", ""), "a.yaml")) == ["tp"]


def test_what_is_not_read() -> None:
    found, faults = kit.read(ALONE.replace("llama-3.3-70b-instruct", "mystery"), "a.yaml")
    assert not found
    assert "mystery" in faults[0].message
    other = ALONE.replace("  name: llama\n", "  name: llama\n  annotations: {kaito.sh/runtime: transformers}\n")
    found, faults = kit.read(other, "a.yaml")
    assert not found
    assert "transformers" in faults[0].message
    assert kit.read(ALONE.replace("inference:", "tuning:"), "a.yaml") == ([], [])


def test_a_slice_of_a_gpu() -> None:
    text = SMALL.replace("instanceType: Standard_NC48ads_A100_v4", "partition: {mode: mig, profile: 2g.24gb}")
    item = kit.one(text, "a.yaml")
    assert (item.value("mig_profile"), item.value("gpus"), item.unresolved) == ("2g.24gb", 1, ())


def test_a_template_of_ones_own() -> None:
    text = ALONE.partition("inference:")[0] + (
        "inference:\n  template:\n    spec:\n      containers:\n        - image: vllm/vllm-openai:v0.11.0\n"
        "          args: [--model, m]\n"
    )
    item = kit.one(text, "a.yaml")
    assert (item.value("model"), item.value("gpus"), item.form) == ("m", 2, "kaito")


@pytest.mark.parametrize(("preset", "repository"), [
    ("mistral-7b-instruct", "mistralai/Mistral-7B-Instruct-v0.3"),
    ("phi-4-mini-instruct", "microsoft/Phi-4-mini-instruct"),
    ("gpt-oss-120b", "openai/gpt-oss-120b"), ("qwen/qwen2.5-coder-7b-instruct", "Qwen/Qwen2.5-Coder-7B-Instruct"),
    ("org/model", "org/model"), ("nothing", None),
])  # fmt: skip
def test_presets(preset: str, repository: str | None) -> None:
    assert repository_of(preset) == repository


def test_machines() -> None:
    assert azure_gpus("Standard_ND96isr_H200_v5") == (8, 1128)
    assert azure_gpus("Standard_D4s_v5") is None
