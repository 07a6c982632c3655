from pathlib import Path

from tests.rules.kit import found, only, serve, toml

BODY = '[workload]\ncontext = "32k"\nusers = 8\n[objectives]\nitl_ms = '


def test_an_objective_that_the_gpu_cannot_meet(tmp_path: Path) -> None:
    item = only(tmp_path, toml(f"{BODY}2"), "KV503", "a.toml")
    assert item.level == "fail"
    assert item.where.endswith("a.toml:11")
    # 16 GB of weights alone take 4.8 ms at the 3.35 TB/s of the data sheet
    assert item.figures["itl_s"]["low"] > 0.0048
    assert found(tmp_path, toml(f"{BODY}50"), "KV503", "a.toml") == []


def test_without_an_objective_a_slow_plan_is_an_info(tmp_path: Path) -> None:
    """The engine moves as many bytes as it is told: 10 GiB over PCIe 4 in every step, though all would fit."""
    flags = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"
    item = only(tmp_path, serve(f"{flags} --cpu-offload-gb 10"), "KV503", host="a100-server")
    assert item.level == "info"
    assert item.figures["itl_s"]["best"] > 10 * 2**30 / 32e9
    assert found(tmp_path, serve(flags), "KV503", host="a100-server") == []
