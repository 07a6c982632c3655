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
