"""``/dev/shm`` and locked memory of a container."""

from __future__ import annotations

import pytest

import tests.deployments.kit as kit

POD = """apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model, m]
    securityContext: {context}
    volumeMounts: [{{name: shm, mountPath: /dev/shm}}, {{name: other, mountPath: /data}}]
  volumes:
  - name: other
    emptyDir: {{sizeLimit: 20Gi}}
  - name: shm
    {volume}
"""


@pytest.mark.parametrize(
    ("volume", "size", "said"),
    [
        ("emptyDir: {medium: Memory, sizeLimit: 16Gi}", "16Gi", ""),
        ("emptyDir: {medium: Memory}", "host", "half of the node's memory"),
        ("hostPath: {path: /dev/shm}", "host", ""),
        ("emptyDir: {}", "host", "on disk"),
    ],
)
def test_what_is_mounted_at_dev_shm(volume: str, size: str, said: str) -> None:
    item = kit.one(POD.format(volume=volume, context="{}"), "p.yaml")
    assert item.value("shm_size") == size
    assert said in item.notes.get("shm_size", "")


def test_nothing_mounted_is_a_containers_own() -> None:
    text = POD.format(volume="emptyDir: {medium: Memory}", context="{}").replace("/dev/shm", "/cache")
    item = kit.one(text, "p.yaml")
    assert (item.value("shm_size"), "64 MiB" in item.notes["shm_size"]) == (None, True)
    shared = text.replace("spec:\n", "spec:\n  hostIPC: true\n")
    assert kit.one(shared, "p.yaml").value("shm_size") == "host"


@pytest.mark.parametrize(
    ("context", "memlock"),
    [
        ("{capabilities: {add: [IPC_LOCK]}}", "unlimited"),
        ("{privileged: true}", "unlimited"),
        ("{capabilities: {drop: [ALL]}}", None),
        ("{}", None),
    ],
)
def test_what_may_be_locked(context: str, memlock: str | None) -> None:
    item = kit.one(POD.format(volume="emptyDir: {medium: Memory}", context=context), "p.yaml")
    assert item.value("memlock") == memlock
