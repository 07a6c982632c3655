from pathlib import Path

from tests.rules.kit import found, only, serve, toml

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 --kv-cache-dtype"


def test_a_type_for_other_gpus(tmp_path: Path) -> None:
    item = only(tmp_path, serve(f"{LLAMA} nvfp4"), "KV415", host="h100-server")
    assert item.level == "fail"
    assert item.where.endswith(":3")
    assert found(tmp_path, serve(f"{LLAMA} nvfp4"), "KV415", host="b200-server") == []


def test_a_type_that_is_not_modelled(tmp_path: Path) -> None:
    assert only(tmp_path, serve(f"{LLAMA} int2_per_token_head"), "KV415", host="h100-server").level == "unknown"
    assert found(tmp_path, serve(f"{LLAMA} turboquant_4bit_nc"), "KV415", host="h100-server") == []
    assert only(tmp_path, serve(f"{LLAMA} turboquant_4bit_nc"), "KV415", host="b200-server").level == "unknown"


def test_spellings_of_fp8(tmp_path: Path) -> None:
    for name in ("fp8", "fp8_e4m3", "fp8_e5m2", "auto"):
        assert found(tmp_path, serve(f"{LLAMA} {name}"), "KV415", host="h100-server") == []


def test_a_strategy_without_a_kernel(tmp_path: Path) -> None:
    assert only(tmp_path, toml("", 'strategy = "kv-nvfp4"'), "KV415", "a.toml").level == "fail"
    assert found(tmp_path, toml("", 'strategy = "kv-fp8"'), "KV415", "a.toml") == []
