from pathlib import Path

from tests.rules.kit import checked, found, only, toml

BODY = '[workload]\ncontext = "128k"\nusers = 8\n[objectives]\nitl_ms = 50\n'


def test_streaming_more_than_the_link_carries(tmp_path: Path) -> None:
    item = only(tmp_path, toml(BODY, 'strategy = "offload-stream"'), "KV601", "a.toml")
    assert item.level == "fail"
    assert item.figures["used_bytes_per_s"]["low"] > item.figures["limit_bytes_per_s"]


def test_it_is_said_instead_of_the_time(tmp_path: Path) -> None:
    result = checked(tmp_path, toml(BODY, 'strategy = "offload-stream"'), "a.toml")
    assert "KV503" not in {item.rule for item in result.findings}


def test_retrieval_crosses_less(tmp_path: Path) -> None:
    assert found(tmp_path, toml(BODY, 'strategy = "offload-retrieve"'), "KV601", "a.toml") == []
