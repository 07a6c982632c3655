from __future__ import annotations

from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments

PLATFORMS = {
    "Flux": ("release.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n"
             "  values:\n    image: {repository: registry/vllm}\n    args: [vllm, serve, m]\n"),
    "Argo": ("app.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    helm:\n"
             "      values: |\n        image: vllm/vllm-openai\n"),
    "Truss": ("config.yaml", "base_image:\n  image: vllm/vllm-openai:latest\ndocker_server:\n"
              "  start_command: vllm serve m --max-model-len 4096\nresources:\n  accelerator: H100:2\n"),
    "FlagScale": ("serve.yaml", "- serve_id: chat\n  engine: vllm\n  engine_args:\n    model: /models/m\n"
                  "    max_model_len: 4096\n"),
    "BentoVLLM": ("recipe.yaml", "args:\n  name: a\n  gpu_type: nvidia-h100-80gb\n  model_id: org/model\n  tp: 1\n"),
    "OCI": ("blueprint.json", '{"recipe_id": "llm", "recipe_image_uri": "vllm/vllm-openai:v0.9.1"}'),
    "srt-slurm": ("recipe.yaml", "name: a\nresources: {gpu_type: gb200, gpus_per_node: 4}\nbackend:\n  type: sglang\n"
                  "  sglang_config:\n    aggregated: {tensor-parallel-size: 4}\n"),
    "vLLM recipe": ("gemma.yaml", "meta: {title: a}\nmodel:\n  model_id: org/model\nvariants:\n  default: {}\n"),
    "NIM": ("nim.yaml", "apiVersion: apps.nvidia.com/v1alpha1\nkind: NIMService\nmetadata: {name: a}\n"),
    "Terraform": ("main.tf", 'resource "kubernetes_deployment" "a" {\n  image = "vllm/vllm-openai"\n}\n'),
    "Ansible": ("site.yaml", "- hosts: gpu\n  tasks:\n  - command: docker run vllm/vllm-openai --model m\n"),
    "dstack": (".dstack.yml", "type: service\ncommands:\n  - vllm serve m\nresources: {gpu: H100}\n"),
    "SageMaker": ("endpoint.yaml", "Model: {Image: djl-inference}\nInstanceType: ml.g5.12xlarge\n"),
}  # fmt: skip
"""A part of what a platform is called -> a file of it."""

TGI = """apiVersion: apps/v1
kind: Deployment
metadata: {name: tgi}
spec:
  template:
    spec:
      containers:
      - image: ghcr.io/huggingface/text-generation-inference:3.0.0
        env: [{name: MODEL_ID, value: google/gemma-2-27b-it}]
"""
VLLM = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - command: [vllm, serve, m]\n"


@pytest.mark.parametrize("called", PLATFORMS)
def test_platforms_are_named_once_and_not_read(called: str) -> None:
    path, text = PLATFORMS[called]
    found, faults = kit.read(text, path)
    assert not found
    assert len(faults) == 1
    assert called in faults[0].message
    assert faults[0].level == "unknown"
    assert faults[0].remedy


@pytest.mark.parametrize("called", PLATFORMS)
def test_a_folder_is_searched_for_them(called: str, tmp_path: Path) -> None:
    path, text = PLATFORMS[called]
    (tmp_path / path).write_text(text)
    _, faults = read_deployments([str(tmp_path)])
    assert [called in fault.message for fault in faults] == [True]


def test_another_engine_beside_one_that_is_judged() -> None:
    found, faults = kit.read(TGI + VLLM, "all.yaml")
    assert [item.name for item in found] == ["p"]
    assert [(fault.place.line, "TGI" in fault.message) for fault in faults] == [(8, True)]


@pytest.mark.parametrize("line", [
    "# image: ghcr.io/huggingface/text-generation-inference:3.0.0",
    "endpoint: http://text-generation-inference.example",
])  # fmt: skip
def test_engines_that_are_only_spoken_of(line: str) -> None:
    assert kit.read(f"{line}\nother: 1\n", "notes.yaml") == ([], [])


def test_variables_of_tgi() -> None:
    _, faults = kit.read("MODEL_ID=google/gemma-2-27b-it\nNUM_SHARD=4\nMAX_TOTAL_TOKENS=2048\n", "tgi.env")
    assert "TGI" in faults[0].message


def test_a_plain_manifest_is_no_other_form() -> None:
    assert [item.name for item in kit.read(VLLM, "pod.yaml")[0]] == ["p"]
    assert kit.read(VLLM, "pod.yaml")[1] == []
