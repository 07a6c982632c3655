from pathlib import Path

from tests.rules.kit import found, only, serve, toml

SLOW = "Qwen/Qwen3-32B --max-model-len 32768 -tp 2"


def test_more_requests_than_prefill_feeds(tmp_path: Path) -> None:
    """vllm#20469: the printed concurrency was 26, and 25 requests got 3 tokens/s."""
    item = only(tmp_path, serve(SLOW, "0.19.0"), "KV501", host="rtx-pro-6000-server")
    assert item.level == "info"
    # 2 FLOP for each of 32e9 parameters and 32768 tokens, at the data sheet's 2 x 468 TFLOPS, is the least time
    assert item.figures["prefill_s"]["low"] > 2 * 32e9 * 32768 / (2 * 468e12)


def test_few_requests_or_short_ones_are_no_such_case(tmp_path: Path) -> None:
    short = serve(SLOW.replace("32768", "2048"), "0.19.0")
    assert found(tmp_path, short, "KV501", host="rtx-pro-6000-server") == []
    assert found(tmp_path, toml('[workload]\ncontext = "128k"\nusers = 1'), "KV501", "a.toml") == []


def test_what_does_not_fit_is_said_by_others(tmp_path: Path) -> None:
    assert found(tmp_path, serve(SLOW, "0.19.0"), "KV501", host="rtx3090-2x") == []
