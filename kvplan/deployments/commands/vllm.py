"""``vllm serve``, its older entry point, and Dynamo's worker around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.vllm_flags import TABLE
from kvplan.deployments.commands.vllm_images import is_vllm_image, vllm_version
from kvplan.deployments.commands.vllm_meaning import derived_settings, settled_settings
from kvplan.deployments.config_words import words_of
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node

_VARIABLES = {
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "lmcache_gib_per_rank",
    "LMCACHE_CONFIG_FILE": "lmcache_config_file",
    "AIBRIX_KV_CACHE_OL_L1_CACHE_ENABLED": "aibrix_l1_enabled",
    "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB": "aibrix_l1_gib_per_rank",
    "VLLM_CPU_KVCACHE_SPACE": "cpu_kvcache_gib",
    "VLLM_CPU_OMP_THREADS_BIND": "cpu_omp_threads_bind",
    "VLLM_CPU_NUM_OF_RESERVED_CPU": "cpu_reserved_cores",
    "VLLM_PP_LAYER_PARTITION": "pp_layer_partition",
}
"""Variable -> the setting that its text is. Source: vllm/envs.py of 0.33.0, LMCache's and AIBrix's documentation."""
_SWITCHES = {
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "allow_long_max_model_len",
    "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE": "allow_chunked_with_hybrid",
    "VLLM_USE_SIMPLE_KV_OFFLOAD": "simple_kv_offload",
    "VLLM_SKIP_INIT_MEMORY_CHECK": "skip_init_memory_check",
    "VLLM_MLA_DISABLE": "mla_disable",
    "VLLM_WEIGHT_OFFLOADING_DISABLE_PIN_MEMORY": "offload_unpinned",
}
"""Variables that are off unless they say otherwise."""
_ON_BY_DEFAULT = {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "estimate_cudagraphs", "VLLM_USE_V1": "use_v1"}
_OFF = {"", "0", "false"}
_IMAGE = (
    r"(?<![\w/.-])(?:[\w.-]+(?::\d+)?/)*(?:vllm-openai(?:-[a-z0-9]+)*|rhaiis/vllm-[\w-]+|vllm-cpu-release-repo)"
    r"(?::[\w.${}:-]+)?(?:@sha256:[0-9a-f]+)?(?=[ \t\\])"
)
_MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "dynamo.vllm", "dynamo.vllm.main",
            "huggingfaceserver")  # fmt: skip
_AROUND_VLLM = replace(TABLE, settings={**TABLE.settings, "model-id": "model", "model-dir": "model"}, complete=False)
"""Dynamo's worker and KServe's huggingfaceserver take vLLM's flags beside their own."""
_LEVEL = re.compile(r"^-O=?(\d)$")


class Vllm:
    """vLLM's OpenAI server."""

    engine = "vllm"
    file_wins = False
    words = re.compile(
        r"(?<![\w./-])(?:[\w./-]+/)?vllm[ \t]+serve(?=[\s\"'\\]|$)"
        r"|-m[ \t]+(?:vllm\.entrypoints\.(?:openai\.)?api_server|vllm\.entrypoints\.cli\.main[ \t]+serve"
        r"|dynamo\.vllm(?:\.main)?|huggingfaceserver)(?=[\s\"'\\]|$)"
        rf"|{_IMAGE}"
    )
    traces = (b"vllm", b"max-model-len", b"max_model_len", b"tensor-parallel-size", b"tensor_parallel_size",
              b"gpu-memory-utilization", b"gpu_memory_utilization", b"max-num-", b"max_num_", b"kv-cache",
              b"kv_cache", b"huggingfaceserver")  # fmt: skip

    def is_started_by(self, image: str) -> bool:
        return is_vllm_image(image)

    def version_of(self, image: str) -> str | None:
        return vllm_version(image)

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            if word in _MODULES:
                return index + 1
            if (
                word == "serve"
                and index
                and words[index - 1].rsplit("/", 1)[-1] in ("vllm", "vllm.entrypoints.cli.main")
            ):
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        around = "dynamo" in entry or any(word.text.startswith(("--model_id", "--model_dir")) for word in words)
        plain = not around and not entry.endswith(("api_server", "huggingfaceserver"))
        return read_arguments(_levels_spelled_out(words), _AROUND_VLLM if around else TABLE, positional_model=plain)

    def of_file(self, root: Node, source: Source) -> Arguments:
        """A false is the flag's ``--no-`` where there is one; earlier than 0.28 it was dropped."""
        words = [
            word
            for word in words_of(root, source, negates=True)
            if not word.text.startswith("--no-") or TABLE.takes_value(TABLE.named(word.text) or "") is False
        ]
        return self.read(words, "api_server")

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        said = {name: word for name, word in environment.items() if word.unresolved is None}
        found = [Setting(name, said[key].text, said[key].place)
                 for key, name in _VARIABLES.items() if key in said and said[key].text]  # fmt: skip
        found += [Setting(name, True, said[key].place)
                  for key, name in _SWITCHES.items() if key in said and said[key].text.lower() not in _OFF]  # fmt: skip
        found += [Setting(name, said[key].text.lower() not in _OFF, said[key].place)
                  for key, name in _ON_BY_DEFAULT.items() if key in said]  # fmt: skip
        return found

    def settled(self, settings: dict[str, Setting]) -> dict[str, Setting]:
        return settled_settings(settings)

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        return derived_settings(settings)


def _levels_spelled_out(words: Sequence[Word]) -> list[Word]:
    """``-O3`` and ``-O=3`` -> ``--optimization-level=3``."""
    spelled = []
    for word in words:
        level = _LEVEL.match(word.text)
        spelled.append(replace(word, text=f"--optimization-level={level[1]}") if level else word)
    return spelled


COMMAND = Vllm()
