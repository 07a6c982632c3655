"""``llama-server`` and ``llama-cli`` of llama.cpp, its images, and the ``LLAMA_ARG_*`` variables.

A flag goes before a variable. Several of them say one thing in two ways (``--no-mmap``, ``-nkvo``, ``-hf`` beside
``-m``): what they come to is derived once, so that presets and Ollama's inherited variables mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.llama_cpp_flags import SWITCHES, TABLE, VARIABLES
from kvplan.deployments.commands.llama_cpp_meaning import derived_settings
from kvplan.deployments.found import Setting, Unresolved

_BINARIES = ("llama-server", "llama-cli", "llama-server.exe", "llama-cli.exe")
_IMAGE = re.compile(r"(?:^|/)llama\.cpp:(?:server|full)(?:[-\w.]*?)(?:@sha256:[0-9a-f]+)?$")
_BUILD = re.compile(r":[\w.-]*?-(b\d{3,6})(?=$|@|-)")
_TRUE = {"1", "true", "on", "enabled", "yes"}
_FALSE = {"0", "false", "off", "disabled", "no"}
_FLASH_WORDS = {"on", "off", "auto", "1", "0", "true", "false", "enabled", "disabled", "-1"}
_LITERAL_NAME = re.compile(r"/[^/$`{}()]+\.gguf$")
_MODEL_SOURCES = ("model_file", "hf_repo", "docker_repo", "model_url")
_BESIDE = {"threads", "threads_batch", "main_gpu", "batch_size_tokens", "ctx_checkpoints", "cache_ram_mib", "mlock",
           "load_mode", "embeddings", "draft_tokens", "mmproj", "lora", "fit_target_mib"}  # fmt: skip
"""Settings without which GPU memory is known well enough."""


class LlamaCppCommand:
    """llama.cpp's server."""

    engine = "llama.cpp"
    words = re.compile(
        r"(?<![\w./~-])(?:[\w.~-]*/(?:[\w.~-]+/)*)?llama-(?:server|cli)(?:\.exe)?(?=[\s\"'\\]|$)"
        r"|(?<![\w./~-])(?:[\w.~-]*/)+server(?=[ \t]+-[^\n]{0,300}?\.gguf)"
        r"|(?<![\w/.-])(?:[\w.-]+(?::\d+)?/)*llama\.cpp:(?:server|full)[\w.${}:-]*(?:@sha256:[0-9a-f]+)?(?=[ \t\\])"
    )
    traces = (b"llama-server", b"llama-cli", b"llama.cpp", b"LLAMA_ARG_", b"llama-cpp", b".gguf")

    def is_started_by(self, image: str) -> bool:
        return _IMAGE.search(image) is not None

    def version_of(self, image: str) -> str | None:
        """``ghcr.io/ggml-org/llama.cpp:server-cuda-b10236`` -> ``b10236``."""
        build = _BUILD.search(image) if "llama.cpp" in image else None
        return build[1] if build else None

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            name = word.rsplit("/", 1)[-1]
            if name in _BINARIES:
                return index + 1
            if name == "server" and any(later in ("-m", "--model", "-hf", "-ngl") for later in words[index + 1 :]):
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        return renamed(read_arguments(_spelled_out(words), TABLE))

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        return [item for variable, word in environment.items() for item in setting_of_variable(variable, word)]

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        return derived_settings(settings)


def setting_of_variable(variable: str, word: Word) -> list[Setting]:
    """``LLAMA_ARG_CTX_SIZE=8192``; ``LLAMA_ARG_NO_MMAP`` with whatever value turns a switch off."""
    flag, off = VARIABLES.get(variable), False
    if flag is None and variable.startswith("LLAMA_ARG_NO_"):
        flag, off = VARIABLES.get("LLAMA_ARG_" + variable.removeprefix("LLAMA_ARG_NO_")), True
    if flag is None or word.unresolved is not None or not word.text.strip():
        return []
    name = TABLE.settings[flag]
    if flag in SWITCHES:
        value = switch_value(word.text)
        return [] if value is None and not off else [Setting(name, not off and bool(value), word.place)]
    return [Setting(name, word.text.strip(), word.place)]


def switch_value(text: str) -> bool | None:
    """How llama.cpp reads the value of a switch: ``on``, ``enabled``, ``true`` and ``1``, or their opposites."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def renamed(found: Arguments) -> Arguments:
    """What cannot be resolved of any way to name a model is the model; threads and the like stop no verdict."""
    found.unresolved = [
        replace(item, name="model") if item.name in _MODEL_SOURCES
        else replace(item, stops=item.stops and item.name not in _BESIDE)
        for item in found.unresolved
    ]  # fmt: skip
    return found


def _spelled_out(words: Sequence[Word]) -> list[Word]:
    """``-fa`` without a value, as builds before August 2025 have it, is ``-fa on``.

    Of a file only the name says something, so that a folder from a variable leaves nothing open.
    """
    spelled: list[Word] = []
    for index, word in enumerate(words):
        named = index > 0 and words[index - 1].text in ("-m", "--model") and _LITERAL_NAME.search(word.text)
        spelled.append(replace(word, unresolved=None) if named else word)
        if word.text in ("-fa", "--flash-attn", "--flash_attn"):
            following = words[index + 1].text.lower() if index + 1 < len(words) else ""
            if following not in _FLASH_WORDS and not following.startswith("$"):
                spelled.append(Word("on", word.place))
    return spelled


COMMAND = LlamaCppCommand()
