"""Variables and files that ConfigMaps give to a container, of the same file or of another one in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.sources import read_deployments

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model=$(MODEL), --max-model-len=$(LENGTH)]
    env: [{name: OMP_NUM_THREADS, value: "8"}]
    envFrom: [{configMapRef: {name: chat}}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chat}\ndata:\n  MODEL: org/m\n  LENGTH: '8192'\n"


def in_tree(folder: Path, **files: str) -> FoundDeployment:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found, _ = read_deployments([str(folder)])
    assert len(found) == 1
    return found[0][0]


def test_a_whole_map_in_the_same_file() -> None:
    item = kit.one(POD + "---\n" + CONFIG, "p.yaml")
    assert (item.value("model"), item.value("max_model_len"), item.value("omp_num_threads")) == ("org/m", "8192", 8)
    assert kit.lines(item)["max_model_len"] == 16


def test_a_prefix() -> None:
    text = POD.replace("[{configMapRef", "[{prefix: X_, configMapRef").replace("$(LENGTH)", "$(X_LENGTH)")
    item = kit.one(text.replace("$(MODEL)", "$(X_MODEL)") + "---\n" + CONFIG, "p.yaml")
    assert item.value("max_model_len") == "8192"


def test_a_map_of_another_file(tmp_path: Path) -> None:
    item = in_tree(tmp_path, pod=POD, config=CONFIG)
    assert item.settings["max_model_len"].place.path.endswith("config.yaml")
    assert (item.value("max_model_len"), item.settings["max_model_len"].place.line) == ("8192", 6)


def test_the_map_of_the_same_folder_goes_before_others(tmp_path: Path) -> None:
    other = CONFIG.replace("8192", "4096")
    assert in_tree(tmp_path, a__pod=POD, a__map=CONFIG, b__map=other).value("max_model_len") == "8192"


def test_two_maps_of_one_name_are_a_question(tmp_path: Path) -> None:
    item = in_tree(tmp_path, a__pod=POD, b__map=CONFIG, c__map=CONFIG)
    assert kit.open_names(item) == ["model", "max_model_len"]
    assert "2 files have a ConfigMap chat" in item.unresolved[0].reason


def test_a_map_that_is_not_there_is_named() -> None:
    item = kit.one(POD, "p.yaml")
    assert "ConfigMap chat is not in these files" in item.unresolved[0].reason


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("secretKeyRef: {name: s, key: k}", "a Secret"),
        ("fieldRef: {fieldPath: status.podIP}", "the pod"),
        ("configMapKeyRef: {name: chat, key: NOT_THERE}", "has no NOT_THERE"),
    ],
)
def test_values_from_elsewhere(source: str, said: str) -> None:
    text = POD.replace('value: "8"', f"valueFrom: {{{source}}}").replace("=$(MODEL)", "=$(OMP_NUM_THREADS)")
    item = kit.one(text + "---\n" + CONFIG, "p.yaml")
    assert kit.open_names(item) == ["model"]
    assert said in item.unresolved[0].reason


def test_a_secret_that_no_flag_needs_is_no_question() -> None:
    text = POD.replace('value: "8"', "valueFrom: {secretKeyRef: {name: s, key: k}}")
    assert kit.open_names(kit.one(text + "---\n" + CONFIG, "p.yaml")) == []


def test_the_bucket_does_not_name_the_model() -> None:
    text = POD.replace("=$(MODEL)", "=gs://$(BUCKET)/$(MODEL)")
    assert kit.one(text + "---\n" + CONFIG, "p.yaml").value("model") == "gs://$(BUCKET)/org/m"
    assert kit.open_names(kit.one(text + "---\n" + CONFIG.replace("MODEL", "OTHER"), "p.yaml")) == ["model"]


FILES = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: files}
data:
  engine.yaml: |
    tensor-parallel-size: 2
    max-model-len: 4096
    enforce-eager: true
    enable-lora: false
  cache.yaml: |
    chunk_size: 256
    max_local_cpu_size: 40
  start.sh: |
    #!/bin/bash
    exec vllm serve org/n \\
      --max-model-len ${LENGTH:-2048}
"""
MOUNTED = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model, org/m, --config, /etc/engine/engine.yaml, -tp, "4"]
    env: [{name: LMCACHE_CONFIG_FILE, value: /etc/engine/cache.yaml}]
    volumeMounts: [{name: files, mountPath: /etc/engine}]
  volumes: [{name: files, configMap: {name: files}}]
"""


def test_a_config_file_in_a_volume() -> None:
    """The command line holds over the file."""
    item = kit.one(MOUNTED + FILES, "p.yaml")
    assert (item.value("max_model_len"), item.value("tp"), item.value("enforce_eager")) == ("4096", "4", True)
    assert (kit.lines(item)["max_model_len"], item.value("enable_lora"), kit.open_names(item)) == (18, False, [])
    assert item.value("lmcache_gib_per_rank") == "40"


def test_a_config_file_that_is_not_at_hand() -> None:
    assert kit.open_names(kit.one(MOUNTED, "p.yaml")) == ["config"]


def test_one_key_mounted_under_another_name() -> None:
    text = MOUNTED.replace("mountPath: /etc/engine}", "mountPath: /etc/engine/engine.yaml, subPath: engine.yaml}")
    assert kit.one(text + FILES, "p.yaml").value("max_model_len") == "4096"
    items = "{name: files, items: [{key: engine.yaml, path: other.yaml}]}"
    text = MOUNTED.replace("{name: files}}]", f"{items}}}]").replace("engine/engine.yaml", "engine/other.yaml")
    assert kit.one(text + FILES, "p.yaml").value("max_model_len") == "4096"


def test_a_script_in_a_volume() -> None:
    text = MOUNTED.replace("    args: [--model, org/m, --config, /etc/engine/engine.yaml, -tp, \"4\"]\n",
                           "    command: [bash, /etc/engine/start.sh]\n")  # fmt: skip
    item = kit.one(text + FILES, "p.yaml")
    assert (item.value("model"), item.value("max_model_len")) == ("org/n", "2048")
    assert kit.lines(item)["max_model_len"] == 27
