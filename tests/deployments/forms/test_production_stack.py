from __future__ import annotations

import json

import tests.deployments.kit as kit
from kvplan.deployments.controllers.resources import CONTAINER_SHM
from kvplan.deployments.forms.production_stack import DEFAULT_SHM

VALUES = """servingEngineSpec:
  runtimeClassName: nvidia
  modelSpec:
  - name: llama3
    repository: lmcache/vllm-openai
    tag: v0.3.5
    modelURL: meta-llama/Llama-3.3-70B-Instruct
    replicaCount: 2
    requestCPU: 10
    requestMemory: 400Gi
    requestGPU: 8
    limitMemory: 500Gi
    shmSize: 16Gi
    vllmConfig:
      enableChunkedPrefill: false
      maxModelLen: 32768
      dtype: bfloat16
      tensorParallelSize: 8
      maxNumSeqs: 64
      gpuMemoryUtilization: 0.95
      extraArgs: ["--disable-log-requests", "--kv-cache-dtype", "fp8"]
    lmcacheConfig:
      enabled: true
      cpuOffloadingBufferSize: "30"
    nodeSelectorTerms:
    - matchExpressions:
      - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-H100-80GB-HBM3]}
"""


def test_a_model_of_the_chart() -> None:
    item = kit.one(VALUES, "values.yaml")
    assert item.name == "llama3"
    values = kit.values(item)
    assert json.loads(str(values.pop("kv_transfer_config"))) == {
        "kv_connector": "LMCacheConnectorV1",
        "kv_role": "kv_both",
    }
    assert {
        "model": "meta-llama/Llama-3.3-70B-Instruct", "max_model_len": "32768", "dtype": "bfloat16", "tp": "8",
        "max_num_seqs": "64", "gpu_memory_utilization": "0.95", "kv_cache_dtype": "fp8", "gpus": 8, "replicas": 2,
        "cpu_request": "10", "memory_request": "400Gi", "memory_limit": "500Gi", "shm_size": "16Gi",
        "lmcache_gib_per_rank": "30", "gpu_product": "NVIDIA-H100-80GB-HBM3",
    }.items() <= values.items()  # fmt: skip
    assert (kit.lines(item)["lmcache_gib_per_rank"], kit.lines(item)["kv_cache_dtype"]) == (24, 21)


def test_shared_memory_as_the_chart_mounts_it() -> None:
    assert kit.one(VALUES.replace("    shmSize: 16Gi\n", ""), "v.yaml").value("shm_size") == DEFAULT_SHM
    without = VALUES.replace("      tensorParallelSize: 8\n", "")
    assert kit.one(without, "v.yaml").value("shm_size") == CONTAINER_SHM


def test_a_slice_and_a_share_of_a_gpu() -> None:
    mig = VALUES.replace("    requestGPU: 8\n", "    requestGPU: 1\n    requestGPUType: nvidia.com/mig-4g.71gb\n")
    item = kit.one(mig, "v.yaml")
    assert (item.value("gpus"), item.value("mig_profile")) == (1, "4g.71gb")
    shared = VALUES.replace("    requestGPU: 8\n", "    requestGPU: 1\n    limitGPUMem: 10240\n")
    assert kit.one(shared, "v.yaml").value("gpu_memory_limit") == "10240Mi"


def test_half_a_gpu_is_none() -> None:
    item = kit.one(VALUES.replace("requestGPU: 8", "requestGPU: 0.5"), "v.yaml")
    assert item.value("gpus") is None
    assert [(doubt.level, doubt.stops) for doubt in item.complaints] == [("warn", False)]


def test_a_ray_cluster_is_one_replica() -> None:
    ray = VALUES.replace(
        "    requestCPU: 10\n", "    raySpec:\n      enabled: true\n      headNode: {requestCPU: 2, requestGPU: 8}\n"
    )
    item = kit.one(ray, "v.yaml")
    assert (item.value("nodes"), item.value("replicas"), item.value("cpu_request")) == (3, None, "2")


def test_prefill_without_a_host_tier() -> None:
    split = VALUES.replace("      enabled: true\n", "      enabled: true\n      enablePD: true\n").replace(
        '      cpuOffloadingBufferSize: "30"\n', '      cudaVisibleDevices: "1"\n'
    )
    item = kit.one(split.replace("    requestGPU: 8\n", ""), "v.yaml")
    assert (item.value("lmcache_gib_per_rank"), item.value("shm_size"), item.value("gpus")) == ("0", "host", 1)


def test_nothing_to_serve() -> None:
    assert kit.read("servingEngineSpec:\n  modelSpec: []\n", "values.yaml") == ([], [])
    off = VALUES.replace("  runtimeClassName: nvidia\n", "  enableEngine: false\n")
    assert kit.read(off, "values.yaml") == ([], [])


def test_a_value_that_is_filled_in_later() -> None:
    item = kit.one(VALUES.replace("maxModelLen: 32768", 'maxModelLen: "{{ .Values.length }}"'), "v.yaml")
    assert kit.open_names(item) == ["max_model_len"]
