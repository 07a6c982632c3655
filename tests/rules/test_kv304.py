from pathlib import Path

from tests.rules.kit import found, only, toml

TOP = 'strategy = "offload-cpu-attention"'


def body(cores: int, objective: str = "[objectives]\nitl_ms = 20\n") -> str:
    return f'[workload]\ncontext = "64k"\nusers = 32\n{objective}[host_overrides]\ncpu_cores = {cores}'


def test_attention_on_the_cpu_needs_its_cores(tmp_path: Path) -> None:
    item = only(tmp_path, toml(body(4), TOP), "KV304", "a.toml")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("fail", "11")
    assert item.figures["used_cores"]["low"] > item.figures["limit_cores"] == 4
    assert found(tmp_path, toml(body(400), TOP), "KV304", "a.toml") == []


def test_nobody_promised_the_default(tmp_path: Path) -> None:
    assert only(tmp_path, toml(body(4, ""), TOP), "KV304", "a.toml").level == "info"


def test_what_runs_on_the_gpu_alone_has_no_such_work(tmp_path: Path) -> None:
    assert found(tmp_path, toml(body(4)), "KV304", "a.toml") == []
