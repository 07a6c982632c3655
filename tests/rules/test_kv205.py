from pathlib import Path

from tests.rules.kit import found, only, pod

UNIT = """[Service]
Environment=LMCACHE_MAX_LOCAL_CPU_SIZE=20
ExecStart=/usr/bin/vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 \\
  --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
"""


def test_a_unit_that_pins_needs_a_higher_limit(tmp_path: Path) -> None:
    """LMCache-Ascend#5: pinning fails until LimitMEMLOCK=infinity."""
    item = only(tmp_path, UNIT, "KV205", "vllm.service")
    assert item.level == "warn"
    assert "LimitMEMLOCK=infinity" in str(item.remedy)
    assert found(tmp_path, UNIT + "LimitMEMLOCK=infinity\n", "KV205", "vllm.service") == []


def test_what_pins_nothing_needs_none(tmp_path: Path) -> None:
    plain = "[Service]\nExecStart=/usr/bin/vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192\n"
    assert found(tmp_path, plain, "KV205", "vllm.service") == []


def test_kubernetes_mostly_has_none(tmp_path: Path) -> None:
    args = "--model=meta-llama/Llama-3.1-8B-Instruct\n--kv-offloading-size=20"
    assert found(tmp_path, pod(args), "KV205", "pod.yaml") == []
