"""SGLang's server: its flags in the vocabulary of deployments."""

from __future__ import annotations

import json

import pytest

from kvplan.deployments.as_words import translate
from kvplan.deployments.commands import version_of_image
from tests.deployments.command_kit import started, values


@pytest.mark.parametrize("text", [
    "python -m sglang.launch_server --model-path m --tp 2", "python3 -m sglang.launch_server --model m --tp-size=2",
    "sglang serve --model-path m --tensor-parallel-size 2", "sglang serve m --tp 2",
    "python3 -m dynamo.sglang --model-path m --tp 2 --dyn-tool-call-parser x",
])  # fmt: skip
def test_ways_to_start_it(text: str) -> None:
    found = started(text)
    assert found.engine == "sglang"
    assert (found.value("model"), found.value("tp")) == ("m", "2")
    assert found.complaints == ()


def test_its_words() -> None:
    found = values(
        "sglang serve --model-path m --context-length 131072 --max-running-requests 64 --chunked-prefill-size 4096"
        " --page-size 64 --mem-fraction-static 0.85 --max-total-tokens 400000 --pp 2 --ep 8 --kv-cache-dtype fp8_e4m3"
        " --disable-cuda-graph --disable-hybrid-swa-memory --cuda-graph-max-bs 32"
    )
    assert found == {
        "model": "m", "max_model_len": "131072", "max_num_seqs": "64", "max_num_batched_tokens": "4096",
        "block_size": "64", "mem_fraction_static": "0.85", "max_total_tokens": "400000", "pp": "2", "ep": "8",
        "kv_cache_dtype": "fp8_e4m3", "enforce_eager": True, "disable_hybrid_kv_cache_manager": True,
        "max_cudagraph_capture_size": "32",
    }  # fmt: skip


def test_data_parallel_attention_takes_no_further_gpus() -> None:
    """SGLang: with --enable-dp-attention the --dp-size groups are inside of the tensor-parallel ranks."""
    inside = values("sglang serve --model-path m --tp 8 --dp 8 --enable-dp-attention")
    assert "dp" not in inside
    assert inside["attention_dp"] == "8"
    assert values("sglang serve --model-path m --tp 4 --dp 2")["dp"] == "2"


@pytest.mark.parametrize(("text", "tokens"), [
    ("--chunked-prefill-size -1", 16384), ("--chunked-prefill-size -1 --max-prefill-tokens 32768", "32768"),
])  # fmt: skip
def test_chunks_switched_off(text: str, tokens: object) -> None:
    assert values(f"sglang serve --model-path m {text}")["max_num_batched_tokens"] == tokens


@pytest.mark.parametrize(("text", "image", "name", "value"), [
    ("--enable-hierarchical-cache", "lmsysorg/sglang:v0.5.9", "hicache_ratio", 2.0),
    ("--enable-hierarchical-cache", "lmsysorg/sglang:v0.5.23", "hicache_host_memory_fraction", 0.8),
    ("--enable-hierarchical-cache --hicache-ratio 3", "lmsysorg/sglang:v0.5.23", "hicache_ratio", "3"),
    ("--enable-hierarchical-cache --hicache-size 100", "lmsysorg/sglang:v0.5.9", "hicache_gb_per_rank", "100"),
])  # fmt: skip
def test_host_cache(text: str, image: str, name: str, value: object) -> None:
    """Since 0.5.21 a pool that nobody sized is lowered until it fits: --hicache-host-memory-fraction 0.8."""
    found = values(f"sglang serve --model-path m {text}", image=image)
    assert found[name] == value
    assert len(found.keys() & {"hicache_ratio", "hicache_host_memory_fraction", "hicache_gb_per_rank"}) == 1


@pytest.mark.parametrize(("text", "config"), [
    ("--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-num-draft-tokens 4",
     {"method": "mtp", "num_speculative_tokens": 4}),
    ("--speculative-algorithm EAGLE3 --speculative-draft-model-path d/e", {"method": "eagle3", "model": "d/e"}),
    ("--speculative-algorithm NGRAM", {"method": "ngram"}),
    ("--speculative-algorithm STANDALONE --speculative-draft-model d/e", {"method": "draft_model", "model": "d/e"}),
])  # fmt: skip
def test_drafts(text: str, config: dict[str, object]) -> None:
    assert json.loads(str(values(f"sglang serve --model-path m {text}")["speculative_config"])) == config


def test_lmcache_under_sglang() -> None:
    assert values("sglang serve --model-path m --enable-lmcache")["lmcache_gib_per_rank"] == 5.0
    other = started("sglang serve --model-path m --enable-lmcache --lmcache-config-file /x.yaml")
    assert [item.name for item in other.unresolved] == ["lmcache_gib_per_rank"]


def test_lengths_in_its_own_units() -> None:
    """SGLang 0.5.23: 1k is 1000, 1Ki is 1024, and 1K is an error."""
    read = {
        text: translate(started(f"sglang serve --model-path m --context-length {text}"))
        for text in ("32k", "32Ki", "32K")
    }
    assert (read["32k"].values["max_model_len"], read["32Ki"].values["max_model_len"]) == (32000, 32768)
    assert [item.stops for item in read["32K"].complaints] == [True]


def test_words_for_fit() -> None:
    words = translate(started("sglang serve --model-path m --mem-fraction-static 0.8 --disable-radix-cache")).words
    assert (words.engine, words.tp, words.dp, words.mem_fraction_static, words.prefix_caching) == (
        "sglang", 1, 1, 0.8, False,
    )  # fmt: skip


@pytest.mark.parametrize(("image", "version"), [
    ("lmsysorg/sglang:v0.5.17-cu130", "0.5.17"), ("lmsysorg/sglang:latest", None), ("lmsysorg/sglang:kimi-k3", None),
    ("lmsysorg/sglang-rocm:v0.5.14-rocm720-mi30x-20260707", "0.5.14"), ("lmsysorg/sglang:dev-cu13", None),
    ("x/aibrix/sglang:v0.4.9.post3-cu126-nixl-v0.4.1", "0.4.9.post3"), ("nvcr.io/nvidia/sglang:26.03-py3", None),
    ("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.1.0", None),
])  # fmt: skip
def test_versions_of_tags(image: str, version: str | None) -> None:
    assert version_of_image("sglang", image) == version
