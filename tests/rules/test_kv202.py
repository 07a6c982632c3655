"""Incidents: rwlove/home-ops#13936, RakuenSoftware/aimee#1385, TheTom/llama-cpp-turboquant#350."""

from dataclasses import replace
from pathlib import Path

import pytest

from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.as_words import translate
from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.rules.context import Context
from kvplan.rules.kv202_host_cache import check
from tests.rules.kit import found, only

HOST = """name = "tested"
gpu = "rtx3090"
gpus = {gpus}
cpu_cores = 8
dram_gib = {dram}
link = "pcie4x16"
source = "test"
"""
OLLAMA = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: ollama
    image: ollama/ollama:{version}
    env:
    - {{name: OLLAMA_HOST, value: 0.0.0.0}}
{env}
    resources: {{limits: {{nvidia.com/gpu: 1, memory: {limit}}}}}
"""
SERVER = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: server
    image: ghcr.io/ggml-org/llama.cpp:server-cuda-{build}
    args: [-m, /models/Qwen3-8B-Q4_K_M.gguf, -c, "8192"{flags}]
    resources: {{limits: {{nvidia.com/gpu: 1, memory: {limit}}}}}
"""


def ollama(limit: str, version: str = "0.32.15", **variables: str) -> str:
    """A pod of Ollama."""
    env = "\n".join(f'    - {{name: {name}, value: "{value}"}}' for name, value in variables.items())
    return OLLAMA.format(limit=limit, version=version, env=env)


def host(folder: Path, dram: float, gpus: int = 1) -> str:
    """A host file with so many GiB."""
    path = folder / "host.toml"
    path.write_text(HOST.format(dram=dram, gpus=gpus), encoding="utf-8")
    return str(path)


def test_three_runners_in_six_gigabytes(tmp_path: Path) -> None:
    """home-ops#13936: 3 x 8192 MiB of prompts in a container of 6G, killed every day and a half."""
    item = only(tmp_path, ollama("6G", OLLAMA_MAX_LOADED_MODELS="3"), "KV202", "pod.yaml")
    assert item.level == "fail"
    assert item.figures["low_bytes"] > 3 * 8192 * 2**20
    assert item.figures["limit_bytes"] == 6 * 10**9
    assert "3 x 8,192 MiB" in item.message
    assert item.remedy == "LLAMA_ARG_CACHE_RAM=1024"


def test_the_remedy_passes(tmp_path: Path) -> None:
    text = ollama("6G", OLLAMA_MAX_LOADED_MODELS="3", LLAMA_ARG_CACHE_RAM="1024")
    assert found(tmp_path, text, "KV202", "pod.yaml") == []


def test_runners_that_nobody_counted_are_a_warning(tmp_path: Path) -> None:
    """One is surely there; three for each GPU may come (docs/faq.mdx)."""
    assert only(tmp_path, ollama("16Gi"), "KV202", "pod.yaml").level == "warn"
    assert only(tmp_path, ollama("8Gi"), "KV202", "pod.yaml").level == "fail"
    assert found(tmp_path, ollama("32Gi"), "KV202", "pod.yaml") == []


def test_ollama_before_its_llama_servers_has_no_such_cache(tmp_path: Path) -> None:
    assert found(tmp_path, ollama("4Gi", "0.13.1", OLLAMA_MAX_LOADED_MODELS="3"), "KV202", "pod.yaml") == []


@pytest.mark.parametrize(
    ("limit", "flags", "build", "level"),
    [
        ("8Gi", "", "b10236", "fail"),
        ("9Gi", "", "b10236", "warn"),
        ("12Gi", "", "b10236", None),
        ("6Gi", "", "b6000", None),
        ("6Gi", ', --cache-ram, "0"', "b10236", None),
        ("64Gi", ', -cram, "-1"', "b10236", "fail"),
        ("16Gi", ', -cram, "40960"', "b10236", "fail"),
    ],
)
def test_one_server_in_a_container(tmp_path: Path, limit: str, flags: str, build: str, level: str | None) -> None:
    items = found(tmp_path, SERVER.format(limit=limit, flags=flags, build=build), "KV202", "pod.yaml")
    assert [item.level for item in items] == ([level] if level else [])


def test_checkpoints_of_windows_and_states(tmp_path: Path) -> None:
    """--ctx-checkpoints 32 of a model with windows: a warning, for they come with long conversations only."""
    model = "gemma-3-27b-it-Q4_K_M.gguf"
    text = SERVER.format(limit="14Gi", flags=", -np, '4'", build="b10236").replace("Qwen3-8B-Q4_K_M.gguf", model)
    item = only(tmp_path, text.replace("8192", "131072"), "KV202", "pod.yaml", "h100-server")
    assert item.level == "warn"
    assert "32 checkpoints x 4 slots" in item.message
    assert found(tmp_path, SERVER.format(limit="14Gi", flags=", -np, '4'", build="b10236"), "KV202", "pod.yaml",
                 "h100-server") == []  # fmt: skip


def test_a_small_host_without_a_limit(tmp_path: Path) -> None:
    """aimee#1385: the default 8192 MiB on a shared host of 15 GB, out of memory about once a day."""
    text = "#!/bin/bash\nllama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192\n"
    assert only(tmp_path, text, "KV202", host=host(tmp_path, 15 * 0.931)).level == "fail"
    assert found(tmp_path, text, "KV202", host=host(tmp_path, 64)) == []
    assert found(tmp_path, text, "KV202") == []


def test_a_size_from_outside_is_no_default(tmp_path: Path) -> None:
    text = "#!/bin/bash\nllama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192 --cache-ram $CACHE\n"
    assert found(tmp_path, text, "KV202", host=host(tmp_path, 14)) == []


def test_a_cache_without_an_end(tmp_path: Path) -> None:
    """llama-cpp-turboquant#350: -1 on a host of 60 GB, all of it resident within an hour."""
    text = "#!/bin/bash\nllama-server -m Qwen3-8B-Q4_K_M.gguf -c 220000 --cache-ram -1\n"
    item = only(tmp_path, text, "KV202", host=host(tmp_path, 60 * 0.931))
    assert item.level == "fail"
    assert item.figures["low_bytes"] == -1
    assert only(tmp_path, text, "KV202").level == "warn"


def test_models_of_llama_swap_that_run_together(tmp_path: Path) -> None:
    text = """models:
  a: {cmd: llama-server -m Qwen3-8B-Q4_K_M.gguf -c 4096}
  b: {cmd: llama-server -m Qwen3-4B-Q4_K_M.gguf -c 4096}
groups:
  both: {swap: false, members: [a, b]}
"""
    items = found(tmp_path, text, "KV202", "config.yaml", host(tmp_path, 24))
    assert [item.level for item in items] == ["fail", "fail"]
    alone = text.replace("swap: false", "swap: true")
    assert found(tmp_path, alone, "KV202", "config.yaml", host(tmp_path, 24)) == []


VLLM = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.11.0
    args: [--model, {model}, --max-model-len, "8192"{flags}]
    resources: {{limits: {{nvidia.com/gpu: {gpus}, memory: {limit}}}}}
"""


def test_images_are_cached_twice(tmp_path: Path) -> None:
    """vLLM's --mm-processor-cache-gb: 4 GiB in every API process and in every engine."""
    text = VLLM.format(model="Qwen/Qwen2.5-VL-7B-Instruct", flags="", gpus=1, limit="8Gi")
    item = only(tmp_path, text, "KV202", "pod.yaml", "h100-server")
    assert item.level == "fail"
    assert "(1 API + 1 engine processes)" in item.message
    assert found(tmp_path, text.replace("8Gi", "32Gi"), "KV202", "pod.yaml", "h100-server") == []
    only_text = VLLM.format(model="Qwen/Qwen2.5-7B-Instruct", flags="", gpus=1, limit="8Gi")
    assert found(tmp_path, only_text, "KV202", "pod.yaml", "h100-server") == []


def test_lmcache_has_a_size_for_each_rank_by_default(tmp_path: Path) -> None:
    connector = ', -tp, "4", --kv-transfer-config, \'{{"kv_connector": "LMCacheConnectorV1"{extra}}}\''
    text = VLLM.format(model="Qwen/Qwen2.5-7B-Instruct", flags=connector.format(extra=""), gpus=4, limit="16Gi")
    item = only(tmp_path, text, "KV202", "pod.yaml", "h100-server")
    assert item.level == "fail"
    assert "5 GiB x 4 ranks" in item.message
    sized = connector.format(extra=', "kv_connector_extra_config": {"lmcache.max_local_cpu_size": 5}')
    text = VLLM.format(model="Qwen/Qwen2.5-7B-Instruct", flags=sized, gpus=4, limit="16Gi")
    assert found(tmp_path, text, "KV202", "pod.yaml", "h100-server") == []


def built(folder: Path, engine: str, settings: dict[str, object], dram: float) -> Context:
    """A deployment of an engine with these settings on a host of so many GiB."""
    place = Place("x.yaml", 7)
    given = {name: Setting(name, value, place) for name, value in settings.items()}  # type: ignore[arg-type]
    item = FoundDeployment("x", "test", place, given, engine=engine)
    return Context(item, translate(item), (), host=load_host(host(folder, dram, 8)))


def test_half_of_the_host_in_a_smaller_container(tmp_path: Path) -> None:
    settings: dict[str, object] = {"offload_host_fraction": "0.5", "memory_limit": "64Gi"}
    (item,) = check(built(tmp_path, "vllm", settings, 256))
    assert item.level == "fail"
    assert "50%" in item.message
    assert list(check(built(tmp_path, "vllm", {"offload_host_fraction": "0.5"}, 256))) == []


def test_half_of_the_host_and_a_little_more(tmp_path: Path) -> None:
    """KAITO takes half of a machine by design: its examples for models with images are not over a budget by that."""
    settings: dict[str, object] = {"offload_host_fraction": "0.5", "model": "Qwen/Qwen2.5-VL-7B-Instruct"}
    context = built(tmp_path, "vllm", settings, 220)
    assert list(check(replace(context, model=load_model("Qwen/Qwen2.5-VL-7B-Instruct")))) == []
