from __future__ import annotations

import pytest

from kvplan.deployments.controllers.resources import given_by, read_device, read_node_terms
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node, documents


def pod(text: str) -> Node:
    return documents(text)[0][0]


def given(text: str) -> Given:
    node = pod(text)
    return given_by(node.entries["containers"].items[0], node, Source("p.yaml", text))


def values(item: Given) -> dict[str, object]:
    return {name: setting.value for name, setting in item.settings.items()}


def container(rest: str) -> str:
    return f"containers:\n- name: a\n{rest}"


def test_limits_requests_and_gpus() -> None:
    item = given(
        container("  resources:\n    requests: {cpu: 500m, memory: 8Gi}\n    limits: {memory: 16G, amd.com/gpu: 2}\n")
    )
    assert values(item) == {"cpu_request": "500m", "memory_request": "8Gi", "memory_limit": "16G", "gpus": 2}
    assert item.settings["gpus"].place.line == 5


@pytest.mark.parametrize(("device", "expected"), [
    ("nvidia.com/mig-1g.10gb: '1'", {"gpus": 1, "mig_profile": "1g.10gb"}),
    ("nvidia.com/gpumem: '10240'", {"gpu_memory_limit": "10240Mi"}),
    ("nvidia.com/gpumem-percentage: 50", {"gpu_fraction": 0.5}),
    ("example.com/nic: 1", {}),
])  # fmt: skip
def test_parts_of_a_gpu(device: str, expected: dict[str, object]) -> None:
    assert values(given(container(f"  resources:\n    limits: {{{device}}}\n"))) == expected


def test_a_shared_gpu_is_a_question() -> None:
    item = given(container("  resources:\n    limits: {nvidia.com/gpu.shared: 1}\n"))
    assert [question.name for question in item.unresolved] == ["gpu_fraction"]


@pytest.mark.parametrize(("count", "level"), [("two", "fail"), ("'{{ .gpus }}'", "unknown"), ("''", "unknown")])
def test_odd_counts(count: str, level: str) -> None:
    item = given(container(f"  resources:\n    limits: {{nvidia.com/gpu: {count}}}\n"))
    assert [(doubt.level, doubt.stops) for doubt in item.complaints] == [(level, True)]
    assert "gpus" not in item.settings


def test_a_placeholder_is_a_question() -> None:
    item = given(container("  resources:\n    limits: {memory: '${MEMORY}'}\n"))
    assert [question.name for question in item.unresolved] == ["memory_limit"]


def test_node_labels() -> None:
    text = (
        container("") + "nodeSelector:\n  cloud.google.com/gke-accelerator: nvidia-l4\n"
        "  node.kubernetes.io/instance-type: g2-standard-8\n"
    )
    assert values(given(text)) == {"gpu_product": "nvidia-l4", "instance_type": "g2-standard-8"}


def test_affinity_with_alternatives() -> None:
    text = container("") + (
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
        "      - matchExpressions:\n        - {key: nvidia.com/gpu.product, operator: In, values: [A, B]}\n"
        "        - {key: zone, operator: In, values: [x]}\n"
    )
    assert values(given(text)) == {"gpu_alternatives": ("A", "B")}
    several = "- matchExpressions:\n  - {key: node.kubernetes.io/instance-type, operator: In, values: [a, b]}\n"
    item = Given()
    read_node_terms(pod(several), Source("p.yaml", several), item)
    assert [question.name for question in item.unresolved] == ["instance_type"]


MOUNT = container("  volumeMounts: [{name: fast, mountPath: /dev/shm}]\n")


@pytest.mark.parametrize(("text", "expected"), [
    (MOUNT + "volumes: [{name: fast, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n", "8Gi"),
    (MOUNT + "volumes: [{name: fast, emptyDir: {medium: Memory}}]\n", "host"),
    (MOUNT + "volumes: [{name: other, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n", None),
    (container("  resources: {limits: {memory: 32Gi}}\n")
     + "volumes: [{name: dshm, emptyDir: {medium: Memory}}]\n", "32Gi"),
    (container("") + "hostIPC: true\n", "host"),
])  # fmt: skip
def test_shared_memory(text: str, expected: str | None) -> None:
    assert values(given(text)).get("shm_size") == expected


def test_names_of_a_forms_own() -> None:
    item, node = Given(), Node("scalar", 3, "4")
    read_device("gpu", node, Source("p.yaml", ""), item, ("gpu",))
    assert values(item) == {"gpus": 4}
