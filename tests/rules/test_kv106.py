from pathlib import Path

from tests.rules.kit import found, only, serve

GEMMA = "google/gemma-3-27b-it --max-model-len 32768 -tp 2"


def test_sliding_layers_are_charged_in_full(tmp_path: Path) -> None:
    """Gemma 3: 52 of 62 layers have a window of 1,024 tokens, and 32,768 tokens in each of them are 15.9 GB more."""
    item = only(tmp_path, serve(f"{GEMMA} --disable-hybrid-kv-cache-manager"), "KV106", host="h100-server")
    assert item.level == "warn"
    assert item.figures["kv_bytes"] > 4 * item.figures["kv_bytes_with_windows"]
    assert found(tmp_path, serve(GEMMA), "KV106", host="h100-server") == []


def test_a_model_without_windows_does_not_care(tmp_path: Path) -> None:
    text = serve("Qwen/Qwen3-8B --max-model-len 8192 --disable-hybrid-kv-cache-manager")
    assert found(tmp_path, text, "KV106", host="h100-server") == []
