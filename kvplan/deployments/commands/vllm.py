"""``vllm serve`` and its older entry point."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.vllm_connectors import settings_of_connector
from kvplan.deployments.commands.vllm_flags import TABLE
from kvplan.deployments.commands.vllm_images import is_vllm_image, vllm_version
from kvplan.deployments.found import Setting, Unresolved

_VARIABLES = {
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "lmcache_gib_per_rank",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "allow_long_max_model_len",
}


class Vllm:
    """vLLM's OpenAI server."""

    engine = "vllm"
    words = re.compile(
        r"(?<![\w./-])(?:[\w./-]+/)?vllm[ \t]+serve(?=[\s\"'\\]|$)"
        r"|-m[ \t]+vllm\.entrypoints\.(?:openai\.)?api_server(?=[\s\"'\\]|$)"
        r"|(?<![\w/.-])(?:[\w.-]+(?::\d+)?/)*vllm-openai(?::[\w.${}:-]+)?(?:@sha256:[0-9a-f]+)?(?=[ \t\\])"
    )
    traces = (b"vllm", b"max-model-len", b"max_model_len", b"tensor-parallel-size", b"tensor_parallel_size",
              b"gpu-memory-utilization", b"gpu_memory_utilization", b"max-num-", b"max_num_", b"kv-cache",
              b"kv_cache")  # fmt: skip

    def is_started_by(self, image: str) -> bool:
        return is_vllm_image(image)

    def version_of(self, image: str) -> str | None:
        return vllm_version(image)

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            if word.startswith("vllm.entrypoints.") and word.endswith("api_server"):
                return index + 1
            if word == "serve" and index and words[index - 1].rsplit("/", 1)[-1] == "vllm":
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        return read_arguments(words, TABLE, positional_model="api_server" not in entry)

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        return [
            Setting(name, environment[variable].text, environment[variable].place)
            for variable, name in _VARIABLES.items()
            if variable in environment and environment[variable].text
        ]

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        transfer = settings.get("kv_transfer_config")
        return settings_of_connector(transfer) if transfer is not None else ([], [])


COMMAND = Vllm()
