from pathlib import Path

from tests.rules.kit import checked, found, only, pod, serve, toml

ARGS = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"


def labelled(product: str) -> str:
    return pod(ARGS).replace("  containers:", f"  nodeSelector:\n    nvidia.com/gpu.product: {product}\n  containers:")


def test_without_a_host_nothing_is_judged(tmp_path: Path) -> None:
    result = checked(tmp_path, serve("llama3-8b --max-model-len 8192"))
    assert [(item.rule, item.level) for item in result.findings] == [("KV411", "unknown")]
    assert "--host" in str(result.findings[0].remedy)
    assert result.deployments[0].outcome == "unknown"
    assert found(tmp_path, serve("llama3-8b --max-model-len 8192"), "KV411", host="h100-server") == []


def test_a_label_is_named_but_not_guessed_from(tmp_path: Path) -> None:
    item = only(tmp_path, labelled("NVIDIA-L4"), "KV411", "pod.yaml")
    assert "NVIDIA-L4" in item.message
    assert item.where.endswith("pod.yaml:7")


def test_a_label_of_another_gpu_is_not_judged_on_the_wrong_one(tmp_path: Path) -> None:
    assert only(tmp_path, labelled("NVIDIA-L4"), "KV411", "pod.yaml", host="h100-server").level == "unknown"
    assert found(tmp_path, labelled("NVIDIA-H100-80GB-HBM3"), "KV411", "pod.yaml", host="h100-server") == []


def test_the_file_goes_before_the_option(tmp_path: Path) -> None:
    result = checked(tmp_path, toml("", 'host = "rtx4090"'), "a.toml", host="h100-server")
    assert result.to_json()["deployments"][0]["host"] == "rtx4090"


def test_a_misspelt_host_of_a_file(tmp_path: Path) -> None:
    item = only(tmp_path, toml("", 'host = "h100-servr"'), "KV411", "a.toml")
    assert "h100-server" in str(item.remedy)
