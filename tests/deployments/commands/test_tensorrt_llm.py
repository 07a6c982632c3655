"""``trtllm-serve``: options, and the objects of its YAML."""

from __future__ import annotations

import json

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.as_words import translate
from kvplan.deployments.commands import version_of_image
from tests.deployments.command_kit import started, values

YAML = """kv_cache_config:
  free_gpu_memory_fraction: 0.85
  host_cache_size: 34359738368
  dtype: fp8
  enable_block_reuse: false
cuda_graph_config:
  max_batch_size: 256
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 3
max_batch_size: 128
max_num_tokens: 8192
max_seq_len: 32768
tensor_parallel_size: 4
enable_attention_dp: true
"""


@pytest.mark.parametrize("text", [
    "trtllm-serve m --tp_size 2", "trtllm-serve serve m --tensor_parallel_size=2",
    "trtllm-llmapi-launch /usr/local/bin/trtllm-serve m --tp_size 2",
    "python3 -m dynamo.trtllm --model-path m --tp_size 2",
])  # fmt: skip
def test_ways_to_start_it(text: str) -> None:
    found = started(text)
    assert (found.engine, found.value("model"), found.value("tp")) == ("tensorrt-llm", "m", "2")


def test_its_words() -> None:
    found = values(
        "trtllm-serve m --max_batch_size 64 --max_num_tokens 8192 --max_seq_len 32768"
        " --kv_cache_free_gpu_memory_fraction 0.8 --trust_remote_code --backend pytorch"
    )
    assert found == {
        "model": "m", "max_num_seqs": "64", "max_num_batched_tokens": "8192", "max_model_len": "32768",
        "free_gpu_memory_fraction": "0.8", "backend": "pytorch",
    }  # fmt: skip


def test_the_fraction_is_of_what_weights_leave() -> None:
    """``fit`` has one word for both fractions; under TensorRT-LLM it means this one."""
    words = translate(started("trtllm-serve m --kv_cache_free_gpu_memory_fraction 0.8")).words
    assert (words.engine, words.tp, words.gpu_memory_utilization) == ("tensorrt-llm", 1, 0.8)


def test_a_file_by_itself() -> None:
    item = kit.one(YAML, "extra.yml")
    found = kit.values(item)
    assert (item.form, item.engine, kit.open_names(item)) == ("trtllm-config", "tensorrt-llm", ["model"])
    expected = {
        "free_gpu_memory_fraction": 0.85, "host_cache_bytes_per_rank": 34359738368.0, "kv_cache_dtype": "fp8",
        "prefix_caching": False, "max_cudagraph_capture_size": 256, "max_num_seqs": "128",
        "max_num_batched_tokens": "8192", "max_model_len": "32768", "tp": "4", "enable_attention_dp": True,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert json.loads(str(found["speculative_config"])) == {"method": "mtp", "num_speculative_tokens": 3}


def test_the_variable_overrides_the_file() -> None:
    """TRTLLM_KVCACHE_HOST_SIZE_OVERRIDE is read where the host pool is made."""
    text = "trtllm-serve m --kv_cache_config '{\"host_cache_size\": 1000}'"
    assert values(text)["host_cache_bytes_per_rank"] == 1000.0
    assert values(text, TRTLLM_KVCACHE_HOST_SIZE_OVERRIDE="2000")["host_cache_bytes_per_rank"] == 2000.0


def test_lengths_are_plain_numbers() -> None:
    assert translate(started("trtllm-serve m --max_seq_len 32k")).complaints[0].stops


@pytest.mark.parametrize(("image", "version"), [
    ("nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc24", "1.3.0rc24"),
    ("nvcr.io/nvidia/tensorrt-llm/release:1.1.0", "1.1.0"),
    ("nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.1.1", None), ("nvcr.io/nvidia/tensorrt-llm/devel:latest", None),
])  # fmt: skip
def test_versions_of_tags(image: str, version: str | None) -> None:
    assert version_of_image("tensorrt-llm", image) == version


def test_a_launchers_file_with_the_arguments_inside() -> None:
    own = "tp_size: 4\nbackend: pytorch\nkv_cache_free_gpu_mem_fraction: 0.9\n"
    text = own + "llm_api_args:\n  kv_cache_config:\n    dtype: fp8\n"
    found = kit.values(kit.one(text, "qwen3.yaml"))
    assert (found["tp"], found["free_gpu_memory_fraction"], found["kv_cache_dtype"]) == ("4", "0.9", "fp8")


def test_files_of_other_programs() -> None:
    for text in ("kind: x\nkv_cache_config: {}\n", "environment:\n  a: b\nmax_num_tokens: 4\n"):
        assert kit.read(text, "a.yaml") == ([], [])
