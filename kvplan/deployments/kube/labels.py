"""Node labels that tell which GPU or which machine a pod runs on, as data.

Sources: NVIDIA GPU feature discovery, AMD GPU operator node labeller, Intel device plugins; "well-known labels" of
Kubernetes; GKE, EKS, AKS, CoreWeave, Volcano Engine (VKE) and Alibaba (ACK) documentation of GPU nodes; Karpenter's
label lists of its AWS and Azure providers.
"""

from __future__ import annotations

import re
from typing import Final

GPU_PRODUCTS: Final = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.k8s.aws/instance-accelerator-name",
    "eks.amazonaws.com/instance-gpu-name",
    "karpenter.azure.com/sku-gpu-name",
    "gpu.nvidia.com/class",
    "gpu.nvidia.com/model",
    "machine.cluster.vke.volcengine.com/gpu-name",
    "aliyun.accelerator/nvidia_name",
    "node.coreweave.cloud/gpu-model",
)
"""Labels whose value names the card, the plainest first."""

COMPUTE_CLASS: Final = "cloud.google.com/compute-class"
"""A class that a cluster's owner defines and mostly names after its GPU (GKE, custom compute classes)."""
BUILT_IN_CLASSES: Final = frozenset({
    "accelerator", "autopilot", "autopilot-spot", "autopilot-arm", "autopilot-arm-spot", "balanced", "dws",
    "general-purpose", "optimally-provisioned", "performance", "scale-out", "scale-out-arm",
})  # fmt: skip
"""Classes that GKE has itself; they name no GPU."""

INSTANCE_TYPES: Final = (
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "karpenter.azure.com/sku-name",
)
FAMILY_AND_SIZE: Final = (
    ("karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-size"),
    ("eks.amazonaws.com/instance-family", "eks.amazonaws.com/instance-size"),
)
"""``p5`` and ``48xlarge``: together an instance type, the family alone a part of one."""

MIG_SIZES: Final = ("cloud.google.com/gke-gpu-partition-size",)
"""Value ``1g.10gb`` (GKE, multi-instance GPUs)."""
SHARING: Final = ("cloud.google.com/gke-gpu-sharing-strategy", "nvidia.com/gpu.sharing-strategy")
"""``time-sharing``, ``time-slicing`` or ``mps``: several pods use the memory of one card."""

CONFIDENTIAL: Final = {"nvidia.com/cc.mode.state": ("on", "devtools"), "nvidia.com/cc.ready.state": ("true",)}
"""Labels of nodes whose GPUs run confidentially, and their values (NVIDIA GPU operator, confidential containers)."""
CONFIDENTIAL_RUNTIME: Final = re.compile(r"^kata\b.*\b(?:snp|tdx)\b")
"""Runtime classes of confidential virtual machines, such as ``kata-qemu-nvidia-gpu-snp``."""

_OWN_LABEL = re.compile(
    r"(?:^|[/.])(?:gpu|accelerator)(?:[._-]?(?:product|name|model|type|class|sku))?$", re.IGNORECASE
)
_NAMES_A_CARD = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[\w. ()+-]{2,80}")


def is_own_gpu_label(key: str, value: str) -> bool:
    """A label that a cluster's owner made up, such as ``gpu-type: h100``."""
    return _OWN_LABEL.search(key) is not None and _NAMES_A_CARD.fullmatch(value) is not None
