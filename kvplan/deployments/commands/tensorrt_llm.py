"""``trtllm-serve`` and Dynamo's worker around TensorRT-LLM."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.tensorrt_llm_flags import TABLE
from kvplan.deployments.config_words import words_of
from kvplan.deployments.found import Setting, Unresolved, Value
from kvplan.deployments.image_tags import parse_image, release_in
from kvplan.deployments.interface import Source
from kvplan.deployments.json_values import parse_json
from kvplan.deployments.yaml_tree import Node

_MODULES = ("dynamo.trtllm", "dynamo.trtllm.main", "tensorrt_llm.commands.serve")
_SUBCOMMANDS = ("serve",)
_KV_CACHE = {
    "free_gpu_memory_fraction": "free_gpu_memory_fraction",
    "host_cache_size": "host_cache_bytes_per_rank",
    "disk_cache_size": "disk_cache_bytes",
    "dtype": "kv_cache_dtype",
    "tokens_per_block": "block_size",
    "max_tokens": "max_total_tokens",
    "max_gpu_total_bytes": "kv_cache_memory_bytes",
    "enable_block_reuse": "prefix_caching",
    "use_kv_cache_manager_v2": "use_kv_cache_manager_v2",
    "max_attention_window": "max_attention_window",
    "mamba_ssm_cache_dtype": "mamba_ssm_cache_dtype",
}
"""Key of ``kv_cache_config`` -> setting. Source: KvCacheConfig, tensorrt_llm/llmapi/llm_args.py."""
_OBJECTS = ("kv_cache_config", "cuda_graph_config", "trtllm_speculative_config")
_DRAFTS = {"mtp": "mtp", "eagle": "eagle", "eagle3": "eagle3", "ngram": "ngram", "drafttarget": "draft_model",
           "medusa": "medusa"}  # fmt: skip


class TensorRtLlm:
    """TensorRT-LLM's OpenAI server. Its images start none by themselves."""

    engine = "tensorrt-llm"
    file_wins = True
    words = re.compile(
        r"(?<![\w./-])(?:[\w./-]+/)?trtllm-serve(?:[ \t]+serve)?(?=[\s\"'\\]|$)"
        r"|-m[ \t]+(?:dynamo\.trtllm(?:\.main)?|tensorrt_llm\.commands\.serve)(?=[\s\"'\\]|$)"
    )
    traces = (b"trtllm", b"tensorrt_llm", b"tensorrt-llm", b"kv_cache_config", b"tensorrtllm")

    def is_started_by(self, image: str) -> bool:
        return False

    def version_of(self, image: str) -> str | None:
        """``nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc24`` -> ``1.3.0rc24``; Dynamo's count their own."""
        parsed = parse_image(image)
        if parsed is None or not re.search(r"(?:^|/)tensorrt-llm(?:/|$)", parsed.name):
            return None
        return release_in(parsed.tag)

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            if word in _MODULES:
                return index + 1
            if word.rsplit("/", 1)[-1] == "trtllm-serve":
                return index + 2 if words[index + 1 : index + 2] == list(_SUBCOMMANDS) else index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        plain = "dynamo" not in entry and entry != "file"
        return read_arguments(words, TABLE, positional_model=plain)

    def of_file(self, root: Node, source: Source) -> Arguments:
        return self.read(words_of(root, source, negates=True), "file")

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        """``TRTLLM_KVCACHE_HOST_SIZE_OVERRIDE``: bytes of host memory for each rank, whatever the file says."""
        word = environment.get("TRTLLM_KVCACHE_HOST_SIZE_OVERRIDE")
        if word is None or word.unresolved is not None or not re.fullmatch(r"\d{1,16}", word.text.strip()):
            return []
        return [Setting("host_cache_bytes_per_rank", float(word.text), word.place)]

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        """What the objects among the settings say in turn; in some launchers' files ``llm_api_args`` holds them all."""
        found: list[Setting] = []
        unresolved: list[Unresolved] = []
        for name in ("llm_api_args", *_OBJECTS):
            setting = settings.get(name)
            if setting is None:
                continue
            try:
                config = parse_json(str(setting.value))
            except ValueError:
                reason = f"{name} is not valid JSON"
                unresolved.append(Unresolved(name, str(setting.value)[:60], setting.place, reason))
                continue
            if isinstance(config, dict):
                found += [Setting(key, value, setting.place) for key, value in _meant(name, config)]
        return found, unresolved


def _meant(name: str, config: dict[str, Any]) -> list[tuple[str, Value]]:
    if name == "llm_api_args":
        objects = [(TABLE.settings.get(key.replace("_", "-"), ""), value) for key, value in config.items()]
        inner = [item for key, value in objects if isinstance(value, dict) for item in _meant(key, value)]
        return inner + [(key, value) for key, value in objects if key and isinstance(value, bool | int | float | str)]
    if name not in _OBJECTS:
        return []
    if name == "kv_cache_config":
        return [(_KV_CACHE[key], _value(_KV_CACHE[key], value))
                for key, value in config.items() if key in _KV_CACHE and value is not None]  # fmt: skip
    if name == "cuda_graph_config":
        most = config.get("max_batch_size")
        return [("max_cudagraph_capture_size", most)] if isinstance(most, int) else []
    kind = str(config.get("decoding_type", "")).lower().replace("_", "")
    drafts: dict[str, Any] = {"method": _DRAFTS.get(kind, kind)}
    if isinstance(config.get("speculative_model_dir"), str):
        drafts["model"] = config["speculative_model_dir"]
    for key in ("num_nextn_predict_layers", "max_draft_len"):
        if isinstance(config.get(key), int) and 1 <= config[key] <= 64:
            drafts["num_speculative_tokens"] = config[key]
            break
    return [("speculative_config", json.dumps(drafts))] if kind else []


def _value(name: str, value: Any) -> Value:
    if isinstance(value, bool | int | float | str):
        return float(value) if name == "host_cache_bytes_per_rank" and isinstance(value, int) else value
    return json.dumps(value)


COMMAND = TensorRtLlm()
