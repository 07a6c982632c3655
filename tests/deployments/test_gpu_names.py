"""Labels as NVIDIA's and AMD's labellers, clouds and schedulers write them."""

from __future__ import annotations

import pytest

from kvplan.deployments.names.gpus import gpu_named, names_a_gpu


@pytest.mark.parametrize(("text", "rows", "number"), [
    ("NVIDIA-H100-80GB-HBM3", ("h100-sxm",), None),
    ("NVIDIA-H100-PCIe", ("h100-pcie",), None),
    ("NVIDIA-H100-NVL", ("h100-nvl",), None),
    ("nvidia-h100-mega-80gb", ("h100-sxm",), None),
    ("NVIDIA-A100-SXM4-40GB", ("a100-sxm-40",), None),
    ("NVIDIA-A100-80GB-PCIe", ("a100-pcie",), None),
    ("nvidia-tesla-a100", ("a100-sxm-40",), None),
    ("nvidia-h200-141gb", ("h200-sxm",), None),
    ("NVIDIA-GH200-480GB", ("gh200-96",), None),
    ("nvidia-gb200", ("gb200",), None),
    ("nvidia-l4", ("l4",), None),
    ("NVIDIA-L40S-SHARED", ("l40s",), None),
    ("Tesla-T4", ("t4",), None),
    ("Tesla-V100-SXM2-32GB", ("v100-sxm-32",), None),
    ("NVIDIA-A10G", ("a10g",), None),
    ("NVIDIA-A10", ("a10",), None),
    ("NVIDIA-GeForce-RTX-3090", ("rtx3090",), None),
    ("NVIDIA-RTX-6000-Ada-Generation", ("rtx-6000-ada",), None),
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", ("rtx-pro-6000",), None),
    ("AMD_Instinct_MI300X_OAM", ("mi300x",), None),
    ("H100_NVLINK_80GB", ("h100-sxm",), None),
    ("A100_PCIE_40GB", ("a100-pcie-40",), None),
    ("A100-80G", ("a100-sxm",), None),
    ("nvidia-gpu-h100:8", ("h100-sxm",), 8),
    ("amd-gpu-mi300x:4", ("mi300x",), 4),
    ("H200:8", ("h200-sxm",), 8),
    ("gpu-h100-80gb-high-x2", ("h100-sxm",), 2),
    ("gpu-l4-24gb-s8-x1", ("l4",), 1),
    ("A100", ("a100-sxm", "a100-sxm-40"), None),
    ("Tesla-V100", ("v100-sxm-16", "v100-sxm-32"), None),
])  # fmt: skip
def test_labels_that_are_understood(text: str, rows: tuple[str, ...], number: int | None) -> None:
    named = gpu_named(text)
    assert named is not None
    assert (named.gpus, named.number) == (rows, number)


@pytest.mark.parametrize("text", [
    "", "nvidia", "gpu", "my-pool", "NVIDIA-GeForce-RTX-4090-Laptop-GPU", "NVIDIA-GeForce-RTX-4090-D", "Tesla-P100",
    "nvidia-gpu-rtx4070-8gb", "h100-of-team-a", "H100:many", "H100-24GB", "-", ":8",
])  # fmt: skip
def test_what_is_half_understood_is_no_gpu(text: str) -> None:
    assert gpu_named(text) is None


def test_a_slice_is_told_from_its_card() -> None:
    named = gpu_named("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")
    assert named is not None
    assert (named.gpus, named.mig_profile) == (("a100-sxm-40",), "1g.5gb")


def test_skypilot_means_the_small_card() -> None:
    """Its catalog has A100 and A100-80GB, V100 and V100-32GB."""
    for text, row in (("A100:4", "a100-sxm-40"), ("A100-80GB:4", "a100-sxm"), ("V100", "v100-sxm-16")):
        named = gpu_named(text, scheduler=True)
        assert named is not None
        assert named.gpus == (row,)


def test_a_vendor_is_no_gpu() -> None:
    assert not names_a_gpu("nvidia")
    assert names_a_gpu("NVIDIA-L4")
