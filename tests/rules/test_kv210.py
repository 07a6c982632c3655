from pathlib import Path

from tests.rules.kit import found, only, toml

BODY = '[workload]\ncontext = "64k"\nusers = 16\n[objectives]\nitl_ms = 50\n[host_overrides]\ndram_gb_per_s = '


def test_cores_that_attend_read_more_than_memory_gives(tmp_path: Path) -> None:
    top = 'strategy = "offload-cpu-attention"'
    slow = only(tmp_path, toml(BODY + "3", top), "KV210", "a.toml")
    assert slow.level == "fail"
    assert slow.figures["limit_bytes_per_s"] == 3e9
    assert found(tmp_path, toml(BODY + "400", top), "KV210", "a.toml") == []


def test_without_a_stated_objective_there_is_no_pace(tmp_path: Path) -> None:
    body = BODY.replace("itl_ms = 50\n", "") + "3"
    assert found(tmp_path, toml(body, 'strategy = "offload-cpu-attention"'), "KV210", "a.toml") == []
