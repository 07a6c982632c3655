"""Overlays read as ``kustomize build`` would make them, each value with the line that says it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Unreadable
from kvplan.deployments.sources import read_deployments

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: server
        image: engine-image
        command: [vllm, serve]
        args: [$(MODEL), --max-model-len=$(LENGTH), -tp, "1"]
        env:
        - {name: MODEL, valueFrom: {configMapKeyRef: {name: runtime, key: MODEL}}}
        - {name: LENGTH, valueFrom: {configMapKeyRef: {name: runtime, key: LENGTH}}}
        - {name: OMP_NUM_THREADS, value: "4"}
        resources: {limits: {nvidia.com/gpu: 1}}
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
      - name: proxy
        image: envoy
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
BASE = "resources: [deployment.yaml]\n"
OVERLAY = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../base
nameSuffix: -h100
configMapGenerator:
- name: runtime
  envs: [runtime.env]
images:
- name: engine-image
  newName: vllm/vllm-openai
  newTag: v0.11.0
"""
ENV = "# what this one runs\nMODEL=org/m\nLENGTH=8192\n"
FILES = {
    "base/deployment.yaml": DEPLOYMENT,
    "base/kustomization.yaml": BASE,
    "over/kustomization.yaml": OVERLAY,
    "over/runtime.env": ENV,
}


def read(folder: Path, files: dict[str, str], *paths: str) -> tuple[list[FoundDeployment], list[Unreadable]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found, unreadable = read_deployments([str(folder / path) for path in paths] or [str(folder)])
    return [item for item, _ in found], unreadable


def one(folder: Path, **changes: str) -> FoundDeployment:
    """The only deployment of the base with its overlay, where lines are added to the overlay or files to its folder."""
    files = {**FILES, **{f"over/{name.replace('__', '.')}": text for name, text in changes.items() if name != "more"}}
    files["over/kustomization.yaml"] += changes.get("more", "")
    found, unreadable = read(folder, files)
    assert not unreadable
    assert len(found) == 1, found
    return found[0]


def said_at(item: FoundDeployment, name: str) -> str:
    place = item.settings[name].place
    return f"{Path(place.path).parent.name}/{Path(place.path).name}:{place.line}"


def test_an_overlay_is_reported_instead_of_its_base(tmp_path: Path) -> None:
    item = one(tmp_path)
    assert (item.name, item.form) == ("chat-h100", "kustomize")
    assert Path(item.place.path).parent.name == "over"
    found = kit.values(item)
    assert {name: found[name] for name in ("model", "max_model_len", "tp", "engine", "gpus", "omp_num_threads")} == {
        "model": "org/m", "max_model_len": "8192", "tp": "1", "engine": "vllm@0.11.0", "gpus": 1, "omp_num_threads": 4,
    }  # fmt: skip
    assert [said_at(item, name) for name in ("model", "max_model_len", "tp", "engine")] == [
        "over/runtime.env:2", "over/runtime.env:3", "base/deployment.yaml:12", "over/kustomization.yaml:12",
    ]  # fmt: skip


def test_a_strategic_merge_patch(tmp_path: Path) -> None:
    """Containers and variables are merged by name, and arguments replaced as a whole."""
    patch = """apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
      - name: server
        args: [$(MODEL), --max-num-seqs=64]
        env: [{name: OMP_NUM_THREADS, value: "8"}]
        resources: {limits: {nvidia.com/gpu: 2, memory: 64Gi}}
      volumes: [{name: shm, emptyDir: {sizeLimit: 16Gi}}]
"""
    item = one(tmp_path, patch__yaml=patch, more="patches: [{path: patch.yaml}]\n")
    found = kit.values(item)
    assert (found["max_num_seqs"], found["gpus"], found["memory_limit"], found["shm_size"]) == ("64", 2, "64Gi", "16Gi")
    assert (found["omp_num_threads"], found["gpu_product"]) == (8, "NVIDIA-H100-80GB-HBM3")
    assert not {"max_model_len", "tp"} & set(found)
    assert (said_at(item, "gpus"), said_at(item, "model")) == ("over/patch.yaml:12", "over/runtime.env:2")


def test_inline_patches(tmp_path: Path) -> None:
    more = """patches:
- target: {kind: Deployment, name: ch.*}
  patch: |-
    - op: replace
      path: /spec/template/spec/containers/0/args/3
      value: "4"
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --enforce-eager
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat}
    spec: {replicas: 3}
"""
    item = one(tmp_path, more=more)
    assert (item.value("tp"), item.value("enforce_eager"), item.value("replicas")) == ("4", True, 3)
    assert (said_at(item, "tp"), said_at(item, "replicas")) == (
        "over/kustomization.yaml:18",
        "over/kustomization.yaml:26",
    )


def test_older_fields(tmp_path: Path) -> None:
    merge = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec: {replicas: 2}\n"
    operations = '[{"op": "replace", "path": "/spec/template/spec/containers/0/args/3", "value": "8"}]'
    more = """patchesStrategicMerge: [merge.yaml]
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: chat}
  path: operations.json
"""
    item = one(tmp_path, merge__yaml=merge, operations__json=operations, more=more)
    assert (item.value("replicas"), item.value("tp")) == (2, "8")


def test_a_patch_deletes(tmp_path: Path) -> None:
    files = {**FILES, "over/patch.yaml": "kind: Deployment\nmetadata: {name: chat}\n$patch: delete\n"}
    files["over/kustomization.yaml"] += "patches: [{path: patch.yaml}]\n"
    files["over/kustomization.yaml"] = files["over/kustomization.yaml"].replace("nameSuffix: -h100\n", "")
    assert read(tmp_path, files, "over/kustomization.yaml")[0] == []


def test_images_replicas_and_digests(tmp_path: Path) -> None:
    more = "replicas: [{name: chat, count: 5}]\n"
    item = one(tmp_path, more=more)
    assert (item.value("replicas"), item.notes["image"]) == (5, "vllm/vllm-openai:v0.11.0")
    changed = {**FILES, "over/kustomization.yaml": OVERLAY.replace("newTag: v0.11.0", "digest: sha256:" + "a" * 64)}
    found, _ = read(tmp_path, changed)
    assert found[0].notes["image"] == "vllm/vllm-openai@sha256:" + "a" * 64


def test_generated_maps_are_merged_and_replaced(tmp_path: Path) -> None:
    base = BASE + "configMapGenerator:\n- name: runtime\n  literals: [MODEL=org/base, 'LENGTH=\"1024\"']\n"
    for behavior, expected in (("merge", "1024"), ("replace", None)):
        overlay = OVERLAY.replace("- name: runtime\n", f"- name: runtime\n  behavior: {behavior}\n")
        files = {**FILES, "base/kustomization.yaml": base, "over/kustomization.yaml": overlay}
        found, _ = read(tmp_path / behavior, {**files, "over/runtime.env": "MODEL=org/m\n"})
        assert (found[0].value("model"), found[0].value("max_model_len")) == ("org/m", expected)


def test_a_comment_behind_a_value_is_part_of_it(tmp_path: Path) -> None:
    item = one(tmp_path, runtime__env="MODEL=org/m\nLENGTH=4096 # less than it was\n")
    assert item.value("max_model_len") == "4096"
    assert [(one.level, one.place.line) for one in item.complaints] == [("warn", 2)]


def test_a_file_of_a_generator(tmp_path: Path) -> None:
    mount = "{name: config, mountPath: /etc/engine}, {name: shm, mountPath: /dev/shm}"
    deployment = DEPLOYMENT.replace("{name: shm, mountPath: /dev/shm}", mount).replace(
        "[{name: shm, emptyDir", "[{name: config, configMap: {name: files}}, {name: shm, emptyDir"
    )
    deployment = deployment.replace('-tp, "1"]', "--config, /etc/engine/engine.yaml]")
    files = {**FILES, "base/deployment.yaml": deployment, "over/engine.yaml": "max-num-seqs: 32\n"}
    files["over/kustomization.yaml"] = OVERLAY.replace("images:", "- name: files\n  files: [engine.yaml]\nimages:")
    found, _ = read(tmp_path, files)
    assert (found[0].value("max_num_seqs"), said_at(found[0], "max_num_seqs")) == ("32", "over/engine.yaml:1")


def test_replacements(tmp_path: Path) -> None:
    more = """replacements:
- source: {kind: ConfigMap, name: runtime, fieldPath: data.TAG}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=server].image"]
    options: {delimiter: ":", index: 1}
"""
    item = one(tmp_path, runtime__env=ENV + "TAG=v0.10.2\n", more=more)
    assert item.value("engine") == "vllm@0.10.2"


def test_a_replacement_whose_source_is_not_there_is_a_question(tmp_path: Path) -> None:
    more = """replacements:
- source: {kind: ConfigMap, name: runtime, fieldPath: data.IMAGE}
  targets: [{select: {kind: Deployment}, fieldPaths: ["spec.template.spec.containers.[name=server].image"]}]
"""
    item = one(tmp_path, more=more)
    assert [(one.name, one.text, one.stops) for one in item.unresolved] == [("engine", "$(IMAGE)", False)]


def test_vars(tmp_path: Path) -> None:
    files = {**FILES, "base/deployment.yaml": DEPLOYMENT.replace('"1"]', "$(TP)]")}
    files["over/runtime.env"] = ENV + "RANKS=2\n"
    files["over/kustomization.yaml"] += (
        "vars:\n- name: TP\n  objref: {kind: ConfigMap, name: runtime}\n  fieldref: {fieldpath: data.RANKS}\n"
    )
    found, _ = read(tmp_path, files)
    assert found[0].value("tp") == "2"


def test_a_component_changes_what_it_is_added_to(tmp_path: Path) -> None:
    component = "kind: Component\nimages: [{name: vllm/vllm-openai, newTag: v0.9.2}]\n"
    files = {**FILES, "image/kustomization.yaml": component}
    files["over/kustomization.yaml"] = OVERLAY.split("images:")[0] + "components: [../image]\n"
    files["base/deployment.yaml"] = DEPLOYMENT.replace("engine-image", "vllm/vllm-openai:v0.8.5")
    found, unreadable = read(tmp_path, files)
    assert ([item.value("engine") for item in found], unreadable) == (["vllm@0.9.2"], [])


def test_two_overlays_of_one_base(tmp_path: Path) -> None:
    other = {name.replace("over/", "next/"): text.replace("8192", "2048") for name, text in FILES.items()}
    other["next/kustomization.yaml"] = OVERLAY.replace("-h100", "-l4")
    found, _ = read(tmp_path, {**FILES, **other})
    assert [(item.name, item.value("max_model_len")) for item in found] == [("chat-l4", "2048"), ("chat-h100", "8192")]


def test_a_list_of_folders_changes_nothing(tmp_path: Path) -> None:
    """What only gathers others is not reported again, and is read where it is asked for alone."""
    plain = DEPLOYMENT.replace("engine-image", "vllm/vllm-openai:v0.9.0")
    files = {**FILES, "kustomization.yaml": "resources:\n- over\n- apps\n", "apps/plain.yaml": plain}
    files["apps/kustomization.yaml"] = "resources: [plain.yaml]\n"
    found, _ = read(tmp_path, files)
    assert sorted((item.name, item.form) for item in found) == [("chat", "kubernetes"), ("chat-h100", "kustomize")]
    (tmp_path / ".git").mkdir()
    alone, _ = read(tmp_path, {}, "kustomization.yaml")
    assert sorted(item.name for item in alone) == ["chat", "chat-h100"]


def test_a_part_that_is_asked_for_is_read_with_its_whole(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec: {replicas: 2}\n"
    files = {**FILES, "over/patch.yaml": patch}
    files["over/kustomization.yaml"] += "patches:\n- path: patch.yaml\n"
    for part in ("over/runtime.env", "over/patch.yaml", "over/kustomization.yaml"):
        found, unreadable = read(tmp_path, files, part)
        assert ([item.value("replicas") for item in found], unreadable) == ([2], []), part
    assert [item.form for item in read(tmp_path, files, "base/deployment.yaml")[0]] == ["kubernetes"]


REMOTE = """resources:
- https://github.com/org/repo//base?ref=main
nameSuffix: -a
configMapGenerator: [{name: runtime, envs: [runtime.env]}]
patches:
- path: patch.yaml
  target: {kind: Deployment, name: chat}
"""
PART = """apiVersion: apps/v1
kind: Deployment
metadata: {name: anything}
spec:
  template:
    spec:
      containers:
      - name: server
        envFrom: [{configMapRef: {name: runtime}}]
        args: [--model=$(MODEL), --max-model-len=$(LENGTH), --gpu-memory-utilization=0.9]
        resources: {limits: {nvidia.com/gpu: 2}}
"""


def test_a_base_outside_the_tree_is_a_question(tmp_path: Path) -> None:
    """What the patches say is judged: the engine is told by its flags."""
    files = {"kustomization.yaml": REMOTE, "runtime.env": ENV, "patch.yaml": PART}
    found, unreadable = read(tmp_path, files)
    assert [(item.name, item.engine, item.value("max_model_len"), item.value("gpus")) for item in found] == [
        ("chat-a", "vllm", "8192", 2)]  # fmt: skip
    assert "shm_size" not in found[0].settings
    assert [(item.place.line, "what else does it set?" in item.message) for item in unreadable] == [(2, True)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("patches: [{path: gone.yaml}]\n", "gone.yaml is not in the tree"),
        ("patches: [{target: {kind: Job}, patch: '{spec: {}}'}]\n", "not among the resources"),
        ("patchesJson6902: [{target: {kind: Deployment}, patch: '[{op: remove, path: /no}]'}]\n", "/no is not in"),
        ("helmCharts: [{name: x}]\n", "rendered by helm"),
        ("components: [../over]\n", "leads back to itself"),
        ("components: [../../../../../etc]\n", "is not in the tree"),
        ("replacements: [{path: gone.yaml}]\n", "gone.yaml is not in the tree"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_joined_is_said(tmp_path: Path, more: str, said: str) -> None:
    (tmp_path / ".git").mkdir()
    files = {**FILES, "over/kustomization.yaml": OVERLAY + more}
    _, unreadable = read(tmp_path, files, "over/kustomization.yaml", "base/deployment.yaml")
    text = " / ".join(item.message for item in unreadable)
    assert said in text


def test_layers_without_end(tmp_path: Path) -> None:
    files = {f"{n}/kustomization.yaml": f"resources: [../{n + 1}, ../{(n * 7) % 40}]\n" for n in range(40)}
    files["40/kustomization.yaml"] = "resources: [../0]\n"
    start = time.perf_counter()
    read(tmp_path, files)
    assert time.perf_counter() - start < 10.0


def test_kustomizations_of_flux_are_others(tmp_path: Path) -> None:
    text = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ./vllm}\n"
    assert read(tmp_path, {"kustomization.yaml": text})[0] == []
