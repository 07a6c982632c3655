from pathlib import Path

import pytest

from kvplan.deployments.commands.flag_history import FlagChange
from kvplan.rules import kv403_flag_versions as rule
from tests.rules.kit import found, only, serve

FLAGS = "llama3-8b --max-model-len 8192 --swap-space 16"


def test_swap_space_is_gone_since_0_18(tmp_path: Path) -> None:
    """unslothai/unsloth-zoo#1210, and the committed files of GKE, KAITO and AIBrix."""
    item = only(tmp_path, serve(FLAGS, "0.18.0"), "KV403", host="h100-server")
    assert (item.level, item.where.rsplit(":", 1)[1], item.remedy) == ("fail", "3", "leave --swap-space out")
    assert only(tmp_path, serve(FLAGS, "0.19.1"), "KV403").level == "fail"
    assert only(tmp_path, serve(FLAGS, None), "KV403", host="h100-server").level == "warn"
    assert found(tmp_path, serve(FLAGS, "0.10.0"), "KV403", host="h100-server") == []


def test_a_flag_is_found_under_any_spelling(tmp_path: Path) -> None:
    assert only(tmp_path, serve(FLAGS.replace("swap-space", "swap_space"), "0.18.0"), "KV403").level == "fail"
    text = "model: llama3-8b\nmax-model-len: 8192\nswap-space: 4\n"
    assert only(tmp_path, text, "KV403", "config.yaml").where.endswith("config.yaml:3")


@pytest.mark.parametrize(("version", "words"), [
    ("0.4", "came with vllm 0.5.0"), ("0.5", None), ("0.6.9", None), ("0.7.0", "was removed in vllm 0.7.0"),
    ("0.9", None), ("1.0", None),
])  # fmt: skip
def test_a_flag_may_come_back(version: str, words: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lives = (FlagChange("block-size", "0.5.0", "0.7.0", "", "x"), FlagChange("block-size", "0.8.0", None, "", "x"))
    monkeypatch.setattr(rule, "history", lambda _engine: lives)
    rule._by_flag.cache_clear()
    try:
        items = found(tmp_path, serve("llama3-8b --block-size 16", version), "KV403")
        assert [words in item.message for item in items if words] == ([True] if words else [])
        assert len(items) == (1 if words else 0)
    finally:
        rule._by_flag.cache_clear()
