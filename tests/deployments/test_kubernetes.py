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
        "memory_limit": "128Gi", "gpu_product": "NVIDIA-H100-80GB-HBM3", "engine": "vllm@0.9.1",
    }  # fmt: skip


def test_every_setting_has_its_line() -> None:
    assert kit.lines(kit.one(DEPLOYMENT, "chat.yaml")) == {
        "model": 21, "max_model_len": 23, "tp": 27, "gpus": 34, "cpu_limit": 35, "memory_limit": 36, "gpu_product": 10,
        "engine": 19,
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


def test_leader_and_workers() -> None:
    """A group of two pods is one replica over both; the workers only join it."""
    container = "          containers:\n          - image: vllm/vllm-openai:v0.10.0\n"
    text = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: big}\nspec:\n"
        "  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n        spec:\n" + container +
        "            args: [--model, m, -tp, '8', -pp, '2']\n            resources: {limits: {nvidia.com/gpu: 8}}\n"
        "    workerTemplate:\n        spec:\n" + container +
        "            command: [bash, -c, 'ray start --address=x --block']\n"
    )  # fmt: skip
    item = kit.one(text, "lws.yaml")
    assert (item.value("nodes"), item.value("gpus"), item.value("pp")) == (2, 8, "2")


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


def test_placeholders_that_yaml_takes_for_maps() -> None:
    """GKE's Llama 4 manifests: ``value: {{HF_TOKEN}}`` and a blank before a colon."""
    text = DEPLOYMENT.replace('value: "2"', "value: {{TP}}").replace('nvidia.com/gpu: "2"', '"nvidia.com/gpu" : "2"')
    item = kit.one(text, "a.yaml")
    assert item.value("gpus") == 2


def test_slices_of_a_gpu_are_not_the_card() -> None:
    item = kit.one(DEPLOYMENT.replace('nvidia.com/gpu: "2"', 'nvidia.com/mig-1g.10gb: "1"'), "a.yaml")
    assert kit.open_names(item) == ["gpu_product"]


def test_other_containers_are_passed_over() -> None:
    text = DEPLOYMENT.replace("vllm/vllm-openai:v0.9.1", "lmsysorg/sglang:v0.4.9")
    assert kit.read(text + "# instead of vllm\n", "a.yaml") == ([], [])


def test_tags_are_never_constructed() -> None:
    text = DEPLOYMENT.replace("--max-model-len\n", "!!python/object/apply:os.system ['x']\n")
    found, faults = kit.read(text, "a.yaml")
    assert (len(found), faults) == (1, [])
