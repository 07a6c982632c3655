from pathlib import Path

from tests.rules.kit import found, only, toml

BODY = '[workload]\nprompt_tokens = "32k"\noutput_tokens = 256\n[objectives]\nttft_ms = '


def test_a_first_token_that_comes_too_late(tmp_path: Path) -> None:
    item = only(tmp_path, toml(f"{BODY}100"), "KV504", "a.toml")
    assert item.level == "fail"
    # 2 x 8e9 operations x 32768 tokens at 989 TFLOPS, the data sheet's rate, take half a second
    assert item.figures["ttft_s"]["low"] > 0.5
    assert found(tmp_path, toml(f"{BODY}20000"), "KV504", "a.toml") == []


def test_without_an_objective_nothing_is_said(tmp_path: Path) -> None:
    assert found(tmp_path, toml(BODY.removesuffix("ttft_ms = ")), "KV504", "a.toml") == []
