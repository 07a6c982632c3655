from pathlib import Path

import pytest

from tests.rules.kit import found, only, toml
from tests.rules.test_kv201 import LLAMA, LMCACHE, host

CONNECTOR = """vllm serve {model} --kv-transfer-config '{{"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
 "kv_connector_extra_config": {{"cpu_bytes_to_use": {told}}}}}'
"""


@pytest.mark.parametrize(
    ("told", "levels"), [(600_000_000_000, ["fail"]), (300_000_000_000, ["info"]), (100_000_000_000, [])]
)
def test_one_registration_has_a_ceiling(tmp_path: Path, told: int, levels: list[str]) -> None:
    """vllm#51080: 600 GB in one region fail, above 512 GiB; LMCache#1970: starts were seen to fail above 200 GB."""
    text = CONNECTOR.format(model=LLAMA, told=told)
    items = found(tmp_path, text, "KV206", host=host(tmp_path, "h100", 8, 2048))
    assert [item.level for item in items] == levels


def test_ranks_register_their_own_part(tmp_path: Path) -> None:
    text = LMCACHE.format(each=150, tp=4, model=LLAMA)
    assert found(tmp_path, text, "KV206", host=host(tmp_path, "h100", 4, 2048)) == []


def test_confidential_machines_register_nothing(tmp_path: Path) -> None:
    """vllm#55428: error 801."""
    body = "[settings]\nkv_offloading_size = 180\n[host_overrides]\nconfidential_computing = {}\n"
    assert only(tmp_path, toml(body.format("true")), "KV206", "a.toml").level == "fail"
    assert found(tmp_path, toml(body.format("false")), "KV206", "a.toml") == []


NODE = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  {node}
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.29.0
    args: [--model=meta-llama/Llama-3.1-8B-Instruct, --kv-offloading-size=20]
    resources: {{limits: {{nvidia.com/gpu: 1, memory: 64Gi}}}}
"""


@pytest.mark.parametrize(
    ("node", "levels"),
    [
        ("nodeSelector: {node.kubernetes.io/instance-type: Standard_NCC40ads_H100_v5}", ["fail"]),
        ("nodeSelector: {node.kubernetes.io/instance-type: Standard_NC40ads_H100_v5}", []),
        ('nodeSelector: {nvidia.com/cc.mode.state: "on"}', ["fail"]),
        ('nodeSelector: {nvidia.com/cc.mode.state: "off"}', []),
        ("runtimeClassName: kata-qemu-nvidia-gpu-snp", ["fail"]),
        ("runtimeClassName: nvidia", []),
    ],
)
def test_confidential_nodes(tmp_path: Path, node: str, levels: list[str]) -> None:
    """Azure's NCC machines, NVIDIA's node labels and the runtime classes of confidential containers."""
    assert [item.level for item in found(tmp_path, NODE.format(node=node), "KV206", "pod.yaml")] == levels


@pytest.mark.parametrize(("version", "each", "levels"), [("0.9.2", 5, ["warn"]), ("0.9.2", 2, []), ("0.10.0", 5, [])])
def test_one_pinned_tensor_of_old_versions(tmp_path: Path, version: str, each: int, levels: list[str]) -> None:
    """LMCache#1063: 5 GB could not be pinned, 2 GB could; changed in August 2025."""
    text = LMCACHE.format(each=each, tp=1, model=LLAMA).replace(
        "vllm serve", f"pip install vllm=={version}\nvllm serve"
    )
    assert [item.level for item in found(tmp_path, text, "KV206")] == levels


def test_huge_pages_beside_what_sglang_counts(tmp_path: Path) -> None:
    """sglang#34972: the check of free memory leaves reserved huge pages out."""
    text = "export SGLANG_HUGEPAGE_SIZE=2MB\nsglang serve --model-path Qwen/Qwen3-8B --enable-hierarchical-cache\n"
    assert only(tmp_path, text, "KV206").level == "warn"
    assert found(tmp_path, text.replace(" --enable-hierarchical-cache", ""), "KV206") == []
