"""What a pod is given. Sources of names and units: see ``kube_resources``."""

from __future__ import annotations

import pytest

import tests.deployments.kit as kit

POD = """apiVersion: v1
kind: Pod
metadata: {{name: p{annotations}}}
spec:
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model, m]
    resources:
      limits:
        {limits}
"""


def pod(limits: str, annotations: str = "") -> str:
    return POD.format(limits=limits, annotations=annotations)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("amd.com/gpu: 4", {"gpus": 4}),
        ('nvidia.com/gpu : "8"', {"gpus": 8}),
        ("habana.ai/gaudi: 8", {"gpus": 8}),
        ("gpu.intel.com/xe: 1", {"gpus": 1}),
        ("google.com/tpu: 4", {"gpus": 4}),
        ("nvidia.com/mig-1g.10gb: 1", {"gpus": 1, "mig_profile": "1g.10gb"}),
        ("{nvidia.com/gpu: 2, nvidia.com/gpumem: 20000}", {"gpus": 2, "gpu_memory_limit": "20000Mi"}),
        ("{nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50}", {"gpus": 1, "gpu_fraction": 0.5}),
        ("{aliyun.com/gpu-mem: 12}", {"gpus": 1, "gpu_memory_limit": "12Gi"}),
        ("{cpu: 500m, memory: 1Ti, hugepages-2Mi: 4Gi}",
         {"cpu_limit": "500m", "memory_limit": "1Ti", "hugepages": "4Gi"}),
        ("{nvidia.com/gpu: 1, nvidia.com/gpucores: 50}", {"gpus": 1}),
    ],
)  # fmt: skip
def test_amounts(limits: str, expected: dict[str, object]) -> None:
    found = kit.values(kit.one(pod(limits), "p.yaml"))
    assert {name: found[name] for name in found if name not in ("model", "engine", "shm_size")} == expected


def test_time_slices_are_a_question() -> None:
    item = kit.one(pod("nvidia.com/gpu.shared: 1"), "p.yaml")
    assert (item.value("gpus"), [(one.name, one.stops) for one in item.unresolved]) == (1, [("gpu_fraction", True)])


def test_a_count_that_is_filled_in_later_is_a_question_and_a_broken_one_a_failure() -> None:
    item = kit.one(pod("nvidia.com/gpu: {{GPUS}}"), "p.yaml")
    assert ([one.name for one in item.unresolved], item.complaints) == (["gpus"], ())
    item = kit.one(pod("nvidia.com/gpu: 1.5"), "p.yaml")
    assert [(one.level, one.stops) for one in item.complaints] == [("fail", True)]


def test_a_share_in_an_annotation() -> None:
    item = kit.one(pod("cpu: 4", ', annotations: {gpu-fraction: "0.5"}'), "p.yaml")
    assert (item.value("gpu_fraction"), item.value("gpus")) == (0.5, 1)


def test_limits_of_the_whole_pod() -> None:
    """Kubernetes 1.32: a container's own limit holds, the pod's is for the others."""
    text = pod("cpu: 4") + "  resources: {limits: {cpu: 16, memory: 64Gi}}\n"
    item = kit.one(text, "p.yaml")
    assert (item.value("cpu_limit"), item.value("memory_limit")) == ("4", "64Gi")


def test_an_image_for_cpus_has_no_gpu() -> None:
    text = pod("cpu: 4").replace("vllm/vllm-openai:v0.11.0", "quay.io/x/vllm-cpu-openai-ubi9:0.3")
    item = kit.one(text.replace("[--model, m]", "[--model, m, --max-model-len, '2048']"), "p.yaml")
    assert (item.value("gpus"), item.value("max_model_len")) == (0, "2048")


CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: four}
spec:
  spec:
    devices:
      requests:
      - name: gpus
        exactly: {deviceClassName: gpu.nvidia.com, count: 4}
      - name: nic
        exactly: {deviceClassName: rdma.example.com, count: 2}
"""


def test_claims_are_counted_where_their_template_is() -> None:
    text = pod("cpu: 4").replace("    resources:\n", "    resources:\n      claims: [{name: gpu}]\n")
    text += "  resourceClaims: [{name: gpu, resourceClaimTemplateName: four}]\n"
    item = kit.one(text, "p.yaml")
    assert [(one.name, one.stops) for one in item.unresolved] == [("gpus", True)]
    assert "ResourceClaimTemplate four" in item.unresolved[0].reason
    item = kit.one(text + CLAIM, "p.yaml")
    assert (item.value("gpus"), item.unresolved) == (4, ())
    every = CLAIM.replace("count: 4", "allocationMode: All")
    assert kit.open_names(kit.one(text + every, "p.yaml")) == ["gpus"]
