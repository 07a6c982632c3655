"""Which GPU or machine a pod asks for. Sources of the labels: see ``kube_labels``."""

from __future__ import annotations

import pytest

import tests.deployments.kit as kit

POD = """apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  nodeSelector: {{{selector}}}
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model, m]
"""


@pytest.mark.parametrize(
    ("selector", "name", "value"),
    [
        ("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3", "gpu_product", "NVIDIA-H100-80GB-HBM3"),
        ("cloud.google.com/gke-accelerator: nvidia-l4", "gpu_product", "nvidia-l4"),
        ("cloud.google.com/compute-class: gpu-h100-80gb-high-x2", "gpu_product", "gpu-h100-80gb-high-x2"),
        ("machine.cluster.vke.volcengine.com/gpu-name: Tesla-V100", "gpu_product", "Tesla-V100"),
        ("karpenter.k8s.aws/instance-gpu-name: l40s", "gpu_product", "l40s"),
        ("amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM", "gpu_product", "AMD_Instinct_MI300X_OAM"),
        ("node.kubernetes.io/instance-type: p5.48xlarge", "instance_type", "p5.48xlarge"),
        ("beta.kubernetes.io/instance-type: g5.12xlarge", "instance_type", "g5.12xlarge"),
        ("{karpenter.k8s.aws/instance-family: g6, karpenter.k8s.aws/instance-size: 12xlarge}"[1:-1],
         "instance_type", "g6.12xlarge"),
        ("cloud.google.com/gke-gpu-partition-size: 1g.10gb", "mig_profile", "1g.10gb"),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "mig_profile", "3g.40gb"),
        ("gpu-type: rtx4090", "gpu_product", "rtx4090"),
    ],
)  # fmt: skip
def test_labels(selector: str, name: str, value: str) -> None:
    item = kit.one(POD.format(selector=selector), "p.yaml")
    assert (item.value(name), kit.lines(item)[name]) == (value, 5)


@pytest.mark.parametrize(
    "selector",
    [
        "cloud.google.com/compute-class: Accelerator",
        'feature.node.kubernetes.io/pci-10de.present: "true"',
        "gpu: available",
        'nvidia.com/gpu.present: "true"',
    ],
)
def test_labels_that_name_no_card(selector: str) -> None:
    item = kit.one(POD.format(selector=selector), "p.yaml")
    assert not {"gpu_product", "instance_type", "gpu_alternatives"} & set(item.settings)


def test_a_product_is_plainer_than_a_class() -> None:
    selector = "cloud.google.com/compute-class: gpu-x, cloud.google.com/gke-accelerator: nvidia-l4"
    assert kit.one(POD.format(selector=selector), "p.yaml").value("gpu_product") == "nvidia-l4"


AFFINITY = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - preference: {matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-T4]}]}
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: nvidia.com/gpu.product, operator: NotIn, values: [NVIDIA-L4]}
          - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-H100-80GB-HBM3]}
        - matchExpressions:
          - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-H200]}
  containers:
  - image: vllm/vllm-openai:v0.11.0
    args: [--model, m]
"""


def test_several_values_are_alternatives() -> None:
    """Terms are alternatives, and so are the values of one; what is only preferred binds nobody."""
    item = kit.one(AFFINITY, "p.yaml")
    assert item.value("gpu_alternatives") == ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H200")
    assert item.value("gpu_product") is None
    one = AFFINITY.replace("NVIDIA-H200", "NVIDIA-H100-80GB-HBM3")
    assert kit.one(one, "p.yaml").value("gpu_product") == "NVIDIA-H100-80GB-HBM3"


def test_shared_cards_are_a_question() -> None:
    for selector in ("nvidia.com/gpu.product: NVIDIA-A10-SHARED", "cloud.google.com/gke-gpu-sharing-strategy: mps"):
        assert kit.open_names(kit.one(POD.format(selector=selector), "p.yaml")) == ["gpu_fraction"]
