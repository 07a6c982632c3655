from __future__ import annotations

import pytest

import tests.deployments.kit as kit


@pytest.mark.parametrize("text", [
    "image:\n  repository: vllm/vllm-openai\n",
    "vllm:\n  serverArgs:\n    port: 8000\n",
    "server:\n  args: ['--max-model-len=8192']\n  max-model-len: 8192\n",
    "command: [llama-server, -m, model.gguf]\n",
])  # fmt: skip
def test_values_with_an_engine(text: str) -> None:
    found, faults = kit.read(text, "values-prod.yaml")
    assert not found
    assert "helm template CHART -f values-prod.yaml" in str(faults[0].remedy)


@pytest.mark.parametrize(("text", "path"), [
    ("featureGates:\n  vLLM: true\n", "values.yaml"),
    ("# image: vllm/vllm-openai\nreplicas: 1\n", "values.yaml"),
    ("image:\n  repository: vllm/vllm-openai\n", "settings.yaml"),
    ("apiVersion: v2\nimage: vllm/vllm-openai\n", "values.yaml"),
])  # fmt: skip
def test_other_files(text: str, path: str) -> None:
    assert kit.read(text, path) == ([], [])
