from __future__ import annotations

from pathlib import Path

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments

SERVICE = """apiVersion: ray.io/v1
kind: RayService
metadata:
  name: qwen
spec:
  serveConfigV2: |
    applications:
    - name: llms
      import_path: ray.serve.llm:build_openai_app
      args:
        llm_configs:
        - model_loading_config:
            model_id: qwen-32b
            model_source: Qwen/Qwen2.5-32B-Instruct
          accelerator_type: A100-80G
          engine_kwargs:
            max_model_len: 8192
            gpu_memory_utilization: 0.85
            tensor_parallel_size: 4
            enforce_eager: true
            enable_lora: false
          deployment_config:
            autoscaling_config: {min_replicas: 1, max_replicas: 4}
          runtime_env:
            env_vars: {LMCACHE_MAX_LOCAL_CPU_SIZE: "20"}
  rayClusterConfig:
    headGroupSpec:
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray-llm:2.46.0-py311-cu124
            resources: {limits: {cpu: "2", memory: 4Gi}}
    workerGroupSpecs:
    - replicas: 2
      template:
        spec:
          containers:
          - name: llm
            image: rayproject/ray-llm:2.46.0-py311-cu124
            resources:
              requests: {cpu: "30", memory: 100Gi}
              limits: {nvidia.com/gpu: "2", cpu: "32", memory: 120Gi}
"""

LEGACY = """apiVersion: v1
kind: ConfigMap
metadata: {name: models}
data:
  llama.yaml: |
    engine_config:
      model_id: meta-llama/Llama-2-7b-chat-hf
      type: VLLMEngine
      engine_kwargs:
        max_num_seqs: 64
      max_total_tokens: 4096
    scaling_config:
      num_workers: 2
      num_gpus_per_worker: 1
      num_cpus_per_worker: 3
      resources_per_worker: {accelerator_type_l4: 0.01}
"""


def test_a_service_and_its_workers() -> None:
    item = kit.one(SERVICE, "service.yaml")
    assert item.name == "qwen-qwen-32b"
    assert {
        "model": "Qwen/Qwen2.5-32B-Instruct", "max_model_len": "8192", "gpu_memory_utilization": "0.85", "tp": "4",
        "enforce_eager": True, "enable_lora": False, "gpu_product": "A100-80GB", "gpus": 2, "nodes": 2, "replicas": 1,
        "cpu_limit": "32", "cpu_request": "30", "memory_limit": "120Gi", "memory_request": "100Gi",
        "shm_size": "100Gi", "lmcache_gib_per_rank": "20",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert (kit.lines(item)["tp"], kit.lines(item)["gpus"]) == (19, 43)
    assert item.notes["image"] == "rayproject/ray-llm:2.46.0-py311-cu124"


def test_python_applications_are_not_read() -> None:
    text = SERVICE.partition("      args:")[0].replace("ray.serve.llm:build_openai_app", "serve:model")
    found, faults = kit.read(text, "service.yaml")
    assert not found
    assert "serve:model" in faults[0].message
    assert faults[0].place.line == 9


def test_other_applications_are_nobodys_business() -> None:
    text = (
        "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: fruit}\nspec:\n  serveConfigV2: |\n"
        "    applications:\n    - import_path: fruit.deployment_graph\n"
    )
    assert kit.read(text, "service.yaml") == ([], [])


def test_models_in_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "applications:\n- args:\n    llm_configs:\n    - models/small.yaml\n    - models/gone.yaml\n"
        "  import_path: ray.serve.llm:build_openai_app\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.yaml").write_text(
        "model_loading_config:\n  model_id: small\n  model_source: Qwen/Qwen2.5-0.5B-Instruct\naccelerator_type: L4\n"
    )
    found, faults = read_deployments([str(tmp_path / "config.yaml")])
    assert [item.value("model") for item, _ in found] == ["Qwen/Qwen2.5-0.5B-Instruct"]
    assert found[0][0].settings["model"].place.path.endswith("small.yaml")
    assert [fault.place.line for fault in faults] == [5]


def test_the_legacy_schema_in_a_config_map() -> None:
    item = kit.one(LEGACY, "models.yaml")
    assert {
        "model": "meta-llama/Llama-2-7b-chat-hf", "max_num_seqs": "64", "max_model_len": "4096", "tp": "2", "gpus": 2,
        "cpu_request": "3", "gpu_product": "L4",
    }.items() <= kit.values(item).items()  # fmt: skip
    assert kit.lines(item)["max_model_len"] == 11


def test_engine_arguments_win_over_the_older_key() -> None:
    text = LEGACY.replace("max_num_seqs: 64", "max_model_len: 2048")
    assert kit.one(text, "models.yaml").value("max_model_len") == "2048"


def test_broken_text_inside() -> None:
    found, faults = kit.read(SERVICE.replace("    - name: llms", "    - name: [llms"), "service.yaml")
    assert not found
    assert faults
    assert faults[0].place.line > 5
