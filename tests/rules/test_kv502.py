from pathlib import Path

import pytest

from tests.rules.kit import found, only, serve

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 16384"
OFFLOAD = "--kv-offloading-size 16"


def test_a_link_that_is_fast_enough(tmp_path: Path) -> None:
    """noonghunna/club-3090#133: 6 to 12 GB over PCIe 4 in 0.3 to 0.5 s, computed in 100 s: an info, no warning."""
    item = only(tmp_path, serve(f"{LLAMA} {OFFLOAD}", "0.19.0"), "KV502", host="rtx3090")
    assert item.level == "info"
    per_gb_s = item.figures["reload_s"] / (item.figures["kv_bytes"] / 1e9)
    assert 0.025 < per_gb_s < 0.085
    assert item.figures["compute_s"] > 5 * item.figures["reload_s"]
    assert found(tmp_path, serve(LLAMA, "0.19.0"), "KV502", host="rtx3090") == []


def test_a_pool_of_less_than_two_requests(tmp_path: Path) -> None:
    flags = LLAMA.replace("16384", "32768")
    items = found(tmp_path, serve(f"{flags} {OFFLOAD}", "0.19.0"), "KV502", host="rtx4090")
    assert [item.level for item in items] == ["warn", "info"]
    assert items[0].figures["requests"] < 2


@pytest.mark.parametrize(("host", "levels"), [("rtx-pro-6000-server", ["warn", "info"]), ("h100-server", ["info"])])
def test_cards_without_a_link_of_their_own_share_the_bus(tmp_path: Path, host: str, levels: list[str]) -> None:
    """vllm#32604: LMCache on two RTX PRO 6000, decode slowed down. With NVLink collectives go another way."""
    text = serve(f"Qwen/Qwen3-32B --max-model-len 32768 -tp 2 {OFFLOAD}", "0.19.0")
    items = found(tmp_path, text, "KV502", host=host)
    assert [item.level for item in items] == levels


def test_a_slow_link_and_a_short_prompt(tmp_path: Path) -> None:
    """LMCache#1241: 18k tokens over PCIe were 27 % slower with the offload. Over two lanes of PCIe 3 nothing pays."""
    from tests.rules.kit import toml

    body = '[settings]\nkv_offloading_size = 16\n[workload]\ncontext = "{}"\nusers = 4\n[host_overrides]\nlink = "{}"'
    assert only(tmp_path, toml(body.format("512", "pcie3x1")), "KV502", "a.toml").level == "warn"
    assert only(tmp_path, toml(body.format("32k", "pcie5x16")), "KV502", "a.toml").level == "info"


def test_the_bus_is_shared_whatever_the_model_is(tmp_path: Path) -> None:
    text = serve(f"org/never-heard-of-it -tp 2 {OFFLOAD}", "0.19.0")
    assert only(tmp_path, text, "KV502", host="rtx-pro-6000-server").level == "warn"
    assert found(tmp_path, text, "KV502", host="h100-server") == []
    assert found(tmp_path, text.replace("-tp 2 ", ""), "KV502", host="rtx-pro-6000-server") == []
