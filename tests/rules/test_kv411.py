from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, pod, serve, toml

LLAMA = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"
LARGE = "--model=Qwen/Qwen2.5-32B-Instruct\n--max-model-len=4096"
"""Weights of 61 GiB: a card of 80 GB holds them, one of 40 GB does not."""


def labelled(
    product: str, args: str = LLAMA, key: str = "nvidia.com/gpu.product", limits: str = "nvidia.com/gpu: 1"
) -> str:
    return pod(args, limits, "vllm/vllm-openai:v0.19.0").replace(
        "  containers:", f"  nodeSelector:\n    {key}: {product}\n  containers:"
    )


def judged(folder: Path, text: str, host: str | None = None) -> tuple[str | None, set[tuple[str, str]]]:
    """The host's name, and what was found."""
    result = checked(folder, text, "pod.yaml", host)
    return result.to_json()["deployments"][0]["host"], {(item.rule, item.level) for item in result.findings}


def test_without_a_host_nothing_is_judged(tmp_path: Path) -> None:
    result = checked(tmp_path, serve("llama3-8b --max-model-len 8192"))
    assert [(item.rule, item.level) for item in result.findings] == [("KV411", "unknown")]
    assert "--host" in str(result.findings[0].remedy)
    assert result.deployments[0].outcome == "unknown"
    assert found(tmp_path, serve("llama3-8b --max-model-len 8192"), "KV411", host="h100-server") == []


@pytest.mark.parametrize(("product", "gpu"), [
    ("NVIDIA-H100-80GB-HBM3", "h100-sxm"), ("nvidia-l4", "l4"), ("nvidia-tesla-a100", "a100-sxm-40"),
    ("nvidia-a100-80gb", "a100-sxm"), ("AMD-Instinct-MI300X-OAM", "mi300x"), ("NVIDIA-RTX-A6000", "a6000"),
    ("gpu-h200-141gb-ultra-x8", "h200-sxm"),
])  # fmt: skip
def test_a_label_gives_the_gpu(tmp_path: Path, product: str, gpu: str) -> None:
    host, items = judged(tmp_path, labelled(product))
    assert host == gpu
    assert "KV411" not in {rule for rule, _ in items}


def test_a_gpu_that_is_too_small_fails_by_its_label_alone(tmp_path: Path) -> None:
    assert only(tmp_path, labelled("NVIDIA-L4", LARGE), "KV101", "pod.yaml").level == "fail"
    assert found(tmp_path, labelled("NVIDIA-H100-80GB-HBM3", LARGE), "KV101", "pod.yaml") == []


@pytest.mark.parametrize("product", ["nvidia", "my-pool", "NVIDIA-GeForce-RTX-4090-Laptop-GPU", "Tesla-P100-PCIE-16GB"])
def test_a_label_that_is_not_understood_is_asked_about(tmp_path: Path, product: str) -> None:
    item = only(tmp_path, labelled(product), "KV411", "pod.yaml")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("unknown", "7")
    assert product == "nvidia" or product in item.message


def test_a_label_of_another_gpu_is_not_judged_on_the_wrong_one(tmp_path: Path) -> None:
    assert only(tmp_path, labelled("NVIDIA-L4"), "KV411", "pod.yaml", host="h100-server").level == "unknown"
    assert found(tmp_path, labelled("NVIDIA-H100-80GB-HBM3"), "KV411", "pod.yaml", host="h100-server") == []


def test_a_label_that_means_two_cards_is_judged_on_both(tmp_path: Path) -> None:
    """An A100 has 40 or 80 GB: what fits on one of them only is a question, what fits on both is none."""
    item = only(tmp_path, labelled("NVIDIA-A100", LARGE), "KV411", "pod.yaml")
    assert item.level == "unknown"
    assert "With A100 SXM 40 GB it fails (KV101" in item.message
    assert "with A100 SXM 80 GB it does not" in item.message
    assert found(tmp_path, labelled("NVIDIA-A100"), "KV411", "pod.yaml") == []
    too_large = LARGE.replace("Qwen2.5-32B", "Qwen2.5-72B")
    assert only(tmp_path, labelled("NVIDIA-A100", too_large), "KV101", "pod.yaml").level == "fail"


@pytest.mark.parametrize(("instance", "host"), [
    ("p5.48xlarge", "p5.48xlarge"), ("g5.8xlarge", "g5.8xlarge"), ("a3-highgpu-2g", "a3-highgpu-2g"),
    ("Standard_NC24ads_A100_v4", "nc24ads-a100-v4"), ("Standard_NC48ads_A100_v4", "nc48ads-a100-v4"),
    ("Standard_ND96isr_H100_v5", "nd-h100-v5"), ("g2-standard-24", "g2-standard-24"),
])  # fmt: skip
def test_an_instance_type_is_a_whole_host(tmp_path: Path, instance: str, host: str) -> None:
    from kvplan.deployments.names.instances import instance_host

    assert instance_host(instance) == host


def test_figures_of_the_host_are_asked_for_only_where_they_matter(tmp_path: Path) -> None:
    """A GPU by its label has no link and no cores. An offload's bytes are judged, its rates only with an objective."""
    offload = f"{LLAMA}\n--kv-offloading-size=16"
    limits = "nvidia.com/gpu: 1, memory: 64Gi"
    _, items = judged(tmp_path, labelled("NVIDIA-L4", offload, limits=limits))
    assert {level for _, level in items} <= {"info"}
    _, items = judged(tmp_path, labelled("NVIDIA-L4", offload, limits="nvidia.com/gpu: 1, memory: 12Gi"))
    assert ("KV201", "fail") in items
    _, items = judged(tmp_path, labelled("NVIDIA-L4", offload))
    assert ("KV201", "unknown") in items


def test_the_file_goes_before_the_option(tmp_path: Path) -> None:
    result = checked(tmp_path, toml("", 'host = "rtx4090"'), "a.toml", host="h100-server")
    assert result.to_json()["deployments"][0]["host"] == "rtx4090"


def test_a_misspelt_host_of_a_file(tmp_path: Path) -> None:
    item = only(tmp_path, toml("", 'host = "h100-servr"'), "KV411", "a.toml")
    assert "h100-server" in str(item.remedy)


def test_a_strategy_that_somebody_named_needs_the_figures(tmp_path: Path) -> None:
    """A host file with a GPU and nothing else: streaming KV can't be judged without the link."""
    (tmp_path / "bare.toml").write_text('name = "bare"\ngpu = "h100-sxm"\ngpus = 1\n', encoding="utf-8")
    named = toml("", 'host = "bare.toml"\nstrategy = "offload-stream"')
    item = only(tmp_path, named, "KV411", "a.toml")
    assert item.level == "unknown"
    assert "link" in item.message
    assert found(tmp_path, toml("", 'host = "bare.toml"'), "KV411", "a.toml") == []
