from __future__ import annotations

import pytest

from kvplan.deployments.names.instances import chip_host, family_gpu, instance_host


@pytest.mark.parametrize(("text", "host"), [
    ("p4d.24xlarge", "p4d.24xlarge"), ("ml.g5.12xlarge", "g5.12xlarge"), ("g6e.4xlarge", "g6e.4xlarge"),
    ("Standard_NC24ads_A100_v4", "nc24ads-a100-v4"), ("standard_nc24ads_a100_v4", "nc24ads-a100-v4"),
    ("NC96ads_A100_v4", "nc96ads-a100-v4"), ("Standard_ND96isr_H100_v5", "nd-h100-v5"),
    ("a3-megagpu-8g", "a3-megagpu-8g"), ("VM.GPU.A10.2", "oci-a10-2x"), ("p5e", "p5e.48xlarge"),
])  # fmt: skip
def test_machines_by_their_clouds_names(text: str, host: str) -> None:
    assert instance_host(text) == host


@pytest.mark.parametrize("text", ["", "g5", "p5", "m5.large", "Standard_D4s_v5", "a9-highgpu-8g", "x" * 5000])
def test_no_machine_with_gpus_that_is_known(text: str) -> None:
    assert instance_host(text) is None


def test_a_family_in_several_sizes_tells_the_gpu() -> None:
    assert family_gpu("g6e") == "l40s"
    assert family_gpu("p5e") is None
    assert chip_host("NVIDIA-GB10") == "dgx-spark"


@pytest.mark.parametrize(("instance", "gpus", "vcpus", "gib"), [
    ("g5.8xlarge", 1, 32, 128), ("g6.24xlarge", 4, 96, 384), ("g6e.16xlarge", 1, 64, 512), ("g4dn.metal", 8, 96, 384),
    ("a2-highgpu-4g", 4, 48, 340), ("a2-ultragpu-2g", 2, 24, 340), ("a3-highgpu-2g", 2, 52, 468),
    ("g2-standard-24", 2, 24, 96), ("g4-standard-96", 2, 96, 360), ("Standard_NC16as_T4_v3", 1, 16, 110),
])  # fmt: skip
def test_sizes_as_the_clouds_list_them(instance: str, gpus: int, vcpus: int, gib: int) -> None:
    from kvplan.catalog.hardware import load_host

    name = instance_host(instance)
    assert name is not None
    host = load_host(name)
    assert host.cpu_cores is not None
    assert (host.gpus, host.cpu_cores.best * 2, host.dram_bytes) == (gpus, vcpus, gib * 2**30)
