from __future__ import annotations

import pytest

import tests.deployments.kit as kit

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
spec:
  replicas: 3
  template:
    spec:
      nodeSelector:
        nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
      initContainers:
      - name: fetch
        image: busybox
        args: ["--model", "no"]
      containers:
      - name: proxy
        image: envoy
      - name: server
        image: vllm/vllm-openai:v0.9.1
        args:
        - --model=google/gemma-3-27b-it
        - --max-model-len
        - "32768"
        - --tensor_parallel_size=$(TP)
        env:
        - name: TP
          value: "2"
        - name: HF_TOKEN
          valueFrom:
            secretKeyRef: {name: hf, key: token}
        resources:
          requests: {cpu: "4", memory: 64Gi}
          limits:
            nvidia.com/gpu: "2"
            cpu: "16"
            memory: 128Gi
"""


def test_a_deployment() -> None:
    item = kit.one(DEPLOYMENT, "chat.yaml")
    assert item.name == "chat"
    assert kit.values(item) == {
        "model": "google/gemma-3-27b-it", "max_model_len": "32768", "tp": "2", "gpus": 2, "cpu_limit": "16",
        "memory_limit": "128Gi", "gpu_product": "NVIDIA-H100-80GB-HBM3", "engine": "vllm@0.9.1", "cpu_request": "4",
        "memory_request": "64Gi", "replicas": 3,
    }  # fmt: skip


def test_every_setting_has_its_line() -> None:
    assert kit.lines(kit.one(DEPLOYMENT, "chat.yaml")) == {
        "model": 21, "max_model_len": 23, "tp": 27, "gpus": 34, "cpu_limit": 35, "memory_limit": 36, "gpu_product": 10,
        "engine": 19, "cpu_request": 32, "memory_request": 32, "replicas": 6,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "ReplicaSet", "DaemonSet"])
def test_kinds_with_a_template(kind: str) -> None:
    assert kit.one(DEPLOYMENT.replace("Deployment", kind), "a.yaml").value("tp") == "2"


def shell(style: str) -> str:
    body = "\n".join(f"          {line}" for line in (
        "set -e", "export LEN=${LEN:-4096}", "exec vllm serve m \\", "  --max-model-len $LEN -tp 4"))  # fmt: skip
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - image: my/vllm\n"
        f'    command: ["/bin/bash", "-c"]\n    args:\n      - {style}\n{body}\n'
    )


def test_a_block_text_for_a_shell_keeps_its_lines() -> None:
    item = kit.one(shell("|"), "p.yaml")
    assert kit.values(item) == {"model": "m", "max_model_len": "4096", "tp": "4"}
    assert kit.lines(item) == {"model": 12, "max_model_len": 11, "tp": 13}


def test_a_quoted_command() -> None:
    command = "[sh, -c, 'vllm serve m --max-model-len 4096']"
    text = f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: {command}\n"
    assert kit.values(kit.one(text, "p.yaml")) == {"model": "m", "max_model_len": "4096"}


def test_a_folded_command_finds_its_lines_again() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command:\n    - sh\n    - -c\n    - >-\n"
        "      vllm serve m\n      --port 80\n      --max-model-len 4096\n"
    )
    assert kit.lines(kit.one(text, "p.yaml"))["max_model_len"] == 11


def test_variables_from_outside_are_unresolved() -> None:
    text = DEPLOYMENT.replace('value: "2"', "valueFrom: {configMapKeyRef: {name: cm, key: tp}}")
    assert kit.open_names(kit.one(text, "a.yaml")) == ["tp"]
    joined = text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata:\n  tp: '4'\n"
    item = kit.one(joined, "a.yaml")
    assert (item.value("tp"), kit.lines(item)["tp"]) == ("4", 42)


def test_a_shells_dollars_are_nothing_without_a_shell() -> None:
    assert kit.open_names(kit.one(DEPLOYMENT.replace("$(TP)", "$TP"), "a.yaml")) == ["tp"]


def test_kubernetes_fills_in_before_the_shell_reads() -> None:
    text = shell("|").replace("$LEN -tp", "$(LEN2) -tp") + "    env: [{name: LEN2, value: '8192'}]\n"
    assert kit.one(text, "p.yaml").value("max_model_len") == "8192"


def test_several_documents_and_lists() -> None:
    second = DEPLOYMENT.replace("name: chat", "name: other")
    found, faults = kit.read(f"{DEPLOYMENT}---\n{second}---\nkind: Service\napiVersion: v1\n", "all.yaml")
    assert ([item.name for item in found], faults) == (["chat", "other"], [])
    assert kit.lines(found[1])["tp"] == kit.lines(found[0])["tp"] + 37
    indented = "\n".join(f"  {line}" for line in DEPLOYMENT.splitlines()).replace("  apiVersion", "- apiVersion", 1)
    assert kit.one(f"apiVersion: v1\nkind: List\nitems:\n{indented}\n", "list.yaml").name == "chat"


def test_documents_before_a_fault_are_kept() -> None:
    found, faults = kit.read(f"{DEPLOYMENT}---\na: [1\nb: }}\n", "a.yaml")
    assert [item.name for item in found] == ["chat"]
    assert len(faults) == 1


def test_other_containers_are_passed_over() -> None:
    text = DEPLOYMENT.replace("vllm/vllm-openai:v0.9.1", "quay.io/team/gateway:v0.4.9")
    assert kit.read(text + "# instead of vllm\n", "a.yaml") == ([], [])


def test_tags_are_never_constructed() -> None:
    text = DEPLOYMENT.replace("--max-model-len\n", "!!python/object/apply:os.system ['x']\n")
    found, faults = kit.read(text, "a.yaml")
    assert (len(found), faults) == (1, [])


def test_an_engine_in_an_init_container_is_judged_as_well() -> None:
    """A sidecar is an init container that is restarted (Kubernetes 1.29)."""
    text = DEPLOYMENT.replace("        image: busybox\n", "        image: vllm/vllm-openai:v0.9.1\n")
    found, _ = kit.read(text, "a.yaml")
    assert [(item.name, item.value("model")) for item in found] == [("chat", "no"), ("chat-2", "google/gemma-3-27b-it")]


def test_annotations_of_the_object_and_of_its_pods() -> None:
    text = DEPLOYMENT.replace("  name: chat\n", "  name: chat\n  annotations: {kvplan.dev/ignore.KV201: tried, a: b}\n")
    text = text.replace("  template:\n", "  template:\n    metadata: {annotations: {kvplan.dev/ignore.KV204: small}}\n")
    annotations = kit.one(text, "a.yaml").annotations
    assert {name: (item.value, item.place.line) for name, item in annotations.items()} == {
        "kvplan.dev/ignore.KV201": ("tried", 5), "kvplan.dev/ignore.KV204": ("small", 9),
    }  # fmt: skip


def test_a_key_that_is_there_twice() -> None:
    item = kit.one(DEPLOYMENT.replace('cpu: "16"', 'cpu: "16"\n            cpu: "12"'), "a.yaml")
    assert item.value("cpu_limit") == "12"
    assert [(said.place.line, said.level) for said in item.complaints] == [(36, "warn")]


def test_a_fault_hides_no_other_document() -> None:
    second = DEPLOYMENT.replace("name: chat", "name: other")
    found, faults = kit.read(f"{DEPLOYMENT}---\na: [1\nb: }}\n---\n{second}", "a.yaml")
    assert [item.name for item in found] == ["chat", "other"]
    assert [fault.place.line for fault in faults] == [39]
    assert kit.lines(found[1])["tp"] == kit.lines(found[0])["tp"] + 40


def test_an_image_that_is_filled_in_later_leaves_the_version_open() -> None:
    text = DEPLOYMENT.replace("image: vllm/vllm-openai:v0.9.1", "image: ${IMAGE}\n        command: [vllm, serve]")
    item = kit.one(text, "a.yaml")
    assert ([(one.name, one.stops) for one in item.unresolved], item.value("engine")) == ([("engine", False)], None)


def test_lines_that_a_template_fills_in_stop_the_verdict() -> None:
    text = DEPLOYMENT.replace("        env:\n", "        {{- with .Values.more }}\n        env:\n")
    item = kit.one(text, "a.yaml")
    assert [(one.name, one.place.line, one.stops) for one in item.unresolved] == [("arguments", 25, True)]
    assert item.value("tp") == "2"


def test_the_nodes_of_one_engine_are_no_replicas() -> None:
    """A StatefulSet whose pods are the ranks of one server."""
    text = DEPLOYMENT.replace("        - --max-model-len\n", "        - --nnodes=3\n        - --max-model-len\n")
    item = kit.one(text, "a.yaml")
    assert (item.value("nodes"), item.value("replicas")) == ("3", None)


def test_json_on_one_line() -> None:
    text = (
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"image": '
        '"vllm/vllm-openai:v0.11.0", "args": ["--model", "m"], "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}'
    )
    item = kit.one(text, "p.json")
    assert (item.name, item.value("model"), item.value("gpus")) == ("p", "m", 2)


def test_a_job_that_is_started_by_the_clock() -> None:
    spec = "      template:\n        spec:\n          containers: [{image: vllm/vllm-openai, args: [--model, m]}]\n"
    text = f"apiVersion: batch/v1\nkind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      parallelism: 3\n{spec}"
    item = kit.one(text, "nightly.yaml")
    assert (item.name, item.value("replicas")) == ("nightly", 3)


def test_a_chart_that_is_not_rendered() -> None:
    """What it says literally is read, and each value that it does not is a question."""
    text = DEPLOYMENT.replace("name: chat", 'name: {{ include "x.name" . }}').replace('"32768"', "{{ .Values.length }}")
    item = kit.one(text, "templates/engine.yaml")
    assert (item.name, item.value("tp"), kit.open_names(item)) == ("engine", "2", ["max_model_len"])
