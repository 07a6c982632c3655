"""Incidents: llama.cpp#11681 and #23652 (requests end after ctx / np tokens), ollama#14116 (131072 tokens of KV)."""

from pathlib import Path

import pytest

from tests.rules.kit import found, only

START = "#!/bin/bash\nllama-server -m Qwen3-8B-Q4_K_M.gguf "
POD = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: ollama
    image: ollama/ollama:0.33.0
    env:
    - {{name: OLLAMA_CONTEXT_LENGTH, value: "{context}"}}
    - {{name: OLLAMA_NUM_PARALLEL, value: "{parallel}"}}
"""


def test_slots_divide_the_context(tmp_path: Path) -> None:
    """ggml-org/llama.cpp#11681: with so many slots a request is cut at ctx / np tokens. No host is needed to say so."""
    item = only(tmp_path, START + "-c 16384 -np 8\n", "KV108")
    assert item.level == "warn"
    assert item.where.endswith(":2")
    assert item.figures["slot_tokens"] == 2048
    assert "8 slots divide 16,384 tokens: each request has 2,048" in item.message
    assert "--ctx-size 131072" in str(item.remedy)


@pytest.mark.parametrize("flags", ["-c 16384", "-c 16384 -np 1", "-c 16384 -np 8 -kvu", "-c 16384 -np -1"])
def test_one_slot_or_a_common_cache_divides_nothing(tmp_path: Path, flags: str) -> None:
    assert found(tmp_path, START + flags + "\n", "KV108") == []


def test_the_remedy_ends_the_division(tmp_path: Path) -> None:
    item = only(tmp_path, START + "-c 8192 -np 4\n", "KV108")
    size = str(item.remedy).split(" ")[1]
    assert only(tmp_path, START + f"-c {size} -np 4\n", "KV108").figures["slot_tokens"] == 8192


def test_ollama_multiplies(tmp_path: Path) -> None:
    """ollama/ollama#14116: a context of 32768 and four requests at once allocate 131072 tokens."""
    item = only(tmp_path, POD.format(context=32768, parallel=4), "KV108", "pod.yaml")
    assert item.level == "warn"
    assert (item.figures["slot_tokens"], item.figures["total_tokens"]) == (32768, 131072)
    assert "131,072" in item.message
    assert found(tmp_path, POD.format(context=32768, parallel=1), "KV108", "pod.yaml") == []


def test_ollamas_own_context_goes_by_the_card(tmp_path: Path) -> None:
    """docs/context-length.mdx: 4k below 24 GiB, 32k up to 48, 256k from there (Qwen3-8B itself takes 40960)."""
    text = POD.format(context=0, parallel=2).replace("    image", "    args: [run, 'qwen3:8b']\n    image")
    expected = {"rtx4090": 32768, "rtx3090": 32768, "rtx4080": 4096, "h100-server": 40960}
    for host, tokens in expected.items():
        assert only(tmp_path, text, "KV108", "pod.yaml", host).figures["slot_tokens"] == tokens


def test_a_stated_context_that_is_longer_fails(tmp_path: Path) -> None:
    from kvplan.deployments.as_words import translate
    from kvplan.deployments.found import Setting
    from kvplan.rules.context import Context
    from kvplan.rules.kv108_slots import check
    from tests.deployments import kit

    item = kit.one(START + "-c 16384 -np 8\n", "serve.sh")
    item.settings["context"] = Setting("context", "4096", item.place)
    (finding,) = check(Context(item, translate(item), ()))
    assert finding.level == "fail"
    assert "4,096" in finding.message
    item.settings["context"] = Setting("context", "2048", item.place)
    assert [one.level for one in check(Context(item, translate(item), ()))] == ["warn"]
