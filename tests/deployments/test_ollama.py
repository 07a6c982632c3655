"""Ollama: its variables, its images, and what it inherits from llama-server."""

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.commands.ollama import COMMAND

POD = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: ollama
    image: docker.io/ollama/ollama:0.32.15@sha256:{digest}
    env:
{env}
    resources: {{limits: {{nvidia.com/gpu: 1, memory: 6G}}}}
"""


def pod(**variables: str) -> dict[str, object]:
    """Settings of a pod with these variables."""
    env = "\n".join(f'    - {{name: {name}, value: "{value}"}}' for name, value in variables.items())
    return kit.values(kit.one(POD.format(env=env, digest="0" * 64), "pod.yaml"))


def test_a_server_without_arguments() -> None:
    found = pod(
        OLLAMA_CONTEXT_LENGTH="8192", OLLAMA_NUM_PARALLEL="4", OLLAMA_MAX_LOADED_MODELS="3",
        OLLAMA_KV_CACHE_TYPE="q8_0", OLLAMA_GPU_OVERHEAD="1073741824", OLLAMA_SCHED_SPREAD="1",
        OLLAMA_FLASH_ATTENTION="true",
    )  # fmt: skip
    assert found["engine"] == "ollama@0.32.15"
    assert (found["max_model_len"], found["parallel"], found["ctx_size"]) == ("8192", "4", 32768)
    assert (found["runners"], found["kv_cache_dtype"], found["sched_spread"]) == ("3", "q8_0", True)
    assert found["gpu_overhead_bytes"] == "1073741824"
    assert (found["gpus"], found["memory_limit"]) == (1, "6G")


def test_zero_is_its_own_choice() -> None:
    assert not {"max_model_len", "parallel", "runners"} & set(
        pod(OLLAMA_CONTEXT_LENGTH="0", OLLAMA_NUM_PARALLEL="0", OLLAMA_MAX_LOADED_MODELS="0")
    )


def test_runners_inherit_what_ollama_does_not_set() -> None:
    found = pod(LLAMA_ARG_CACHE_RAM="512", LLAMA_ARG_CTX_SIZE="1024", LLAMA_ARG_N_CPU_MOE="8")
    assert (found["cache_ram_mib"], found["n_cpu_moe"]) == ("512", "8")
    assert "ctx_size" not in found


def test_variables_that_nobody_reads() -> None:
    assert pod(OLLAMA_CTX_SIZE="18", OLLAMA_NUM_PARALLEL="1")["ignored_variables"] == ("OLLAMA_CTX_SIZE",)
    assert "ignored_variables" not in pod(OLLAMA_GPU_LAYERS="18")  # KV401 knows what it was to set
    assert "ignored_variables" not in pod(OLLAMA_NUM_PARALLEL="1", OLLAMA_KEEP_ALIVE="5m", OLLAMA_HOST="0.0.0.0")


SCRIPT = """#!/bin/bash
export OLLAMA_NUM_PARALLEL=2
docker run -d --gpus=all --memory 16g -v ollama:/root/.ollama -e OLLAMA_CONTEXT_LENGTH=8192 ollama/ollama:0.33.1
ollama run llama3.1:70b
OLLAMA_CONTEXT_LENGTH=4096 ollama serve &
docker pull ollama/ollama:0.33.1
"""


def test_shell() -> None:
    found, _ = kit.read(SCRIPT, "serve.sh")
    container, asked, server = map(kit.values, found)
    assert (container["engine"], container["max_model_len"], container["memory_limit"]) == (
        "ollama@0.33.1", "8192", "16Gi",
    )  # fmt: skip
    assert asked["model"] == "llama3.1:70b"
    assert (server["max_model_len"], server["parallel"]) == ("4096", "2")


IMAGES = {"ollama/ollama:0.13.1": "0.13.1", "ollama/ollama": None, "ollama/ollama:0.5.7-rocm": "0.5.7",
          "ollama/ollama:latest": None, "docker.io/ollama/ollama:rocm": None}  # fmt: skip


@pytest.mark.parametrize("image", IMAGES)
def test_images(image: str) -> None:
    assert COMMAND.is_started_by(image)
    assert COMMAND.version_of(image) == IMAGES[image]


def test_other_images() -> None:
    assert not COMMAND.is_started_by("ghcr.io/open-webui/open-webui:ollama")
