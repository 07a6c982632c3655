from pathlib import Path

from tests.rules.kit import found, only, serve

FLAGS = "llama3-8b --max-model-len 8192 --swap-space 16"


def test_swap_space_is_gone_since_0_18(tmp_path: Path) -> None:
    """unslothai/unsloth-zoo#1210, and the committed files of GKE, KAITO and AIBrix."""
    item = only(tmp_path, serve(FLAGS, "0.18.0"), "KV403", host="h100-server")
    assert (item.level, item.where.rsplit(":", 1)[1], "removed in vllm 0.18.0" in item.message) == ("fail", "3", True)
    assert only(tmp_path, serve(FLAGS, "0.19.1"), "KV403").level == "fail"
    assert only(tmp_path, serve(FLAGS, None), "KV403", host="h100-server").level == "warn"
    assert found(tmp_path, serve(FLAGS, "0.10.0"), "KV403", host="h100-server") == []


def test_a_flag_is_found_under_any_spelling(tmp_path: Path) -> None:
    assert only(tmp_path, serve(FLAGS.replace("swap-space", "swap_space"), "0.18.0"), "KV403").level == "fail"
    text = "model: llama3-8b\nmax-model-len: 8192\nswap-space: 4\n"
    assert only(tmp_path, text, "KV403", "config.yaml").where.endswith("config.yaml:3")


def test_a_flag_that_came_later(tmp_path: Path) -> None:
    """--kv-offloading-size is none of the arguments of vLLM 0.10."""
    item = only(tmp_path, serve("llama3-8b --max-model-len 8192 --kv-offloading-size 8", "0.10.0"), "KV403")
    assert (item.level, "came with vllm" in item.message) == ("fail", True)
    assert "take version" in str(item.remedy)
