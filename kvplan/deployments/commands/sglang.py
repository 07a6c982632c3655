"""``sglang.launch_server``, ``sglang serve``, and Dynamo's worker around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.sglang_flags import TABLE
from kvplan.deployments.commands.sglang_meaning import derived_settings, settled_settings
from kvplan.deployments.config_words import words_of
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.image_tags import parse_image, release_in
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node

_MODULES = ("sglang.launch_server", "dynamo.sglang", "dynamo.sglang.main")
_AROUND_SGLANG = replace(TABLE, complete=False)
"""Dynamo's worker takes SGLang's flags beside its own."""
_VARIABLES = {"LMCACHE_MAX_LOCAL_CPU_SIZE": "lmcache_gib_per_rank", "LMCACHE_CONFIG_FILE": "lmcache_config_file"}
_SWITCHES = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "allow_long_max_model_len"}
_OFF = {"", "0", "false", "no", "n"}
_OWN_IMAGE = re.compile(r"(?:^|/)sglang(?:-rocm|-xpu|-musa|-npu)?$")
_NAMED_RELEASE = re.compile(r"sglang[_-]?v?(\d+\.\d+\.\d+(?:\.post\d+)?)")


class Sglang:
    """SGLang's server. Its images start no server by themselves."""

    engine = "sglang"
    file_wins = False
    words = re.compile(
        r"-m[ \t]+(?:sglang\.launch_server|dynamo\.sglang(?:\.main)?)(?=[\s\"'\\]|$)"
        r"|(?<![\w./-])(?:[\w./-]+/)?sglang[ \t]+serve(?=[\s\"'\\]|$)"
        r"|(?<![\w./-])(?:[\w./-]+/)?sglang/launch_server\.py(?=[\s\"'\\]|$)"
    )
    traces = (b"sglang", b"mem-fraction-static", b"mem_fraction_static", b"chunked-prefill-size", b"context-length")

    def is_started_by(self, image: str) -> bool:
        return False

    def version_of(self, image: str) -> str | None:
        """``lmsysorg/sglang:v0.5.17-cu130`` -> ``0.5.17``, also inside a tag of another product."""
        parsed = parse_image(image)
        if parsed is None or not parsed.tag or "nvcr.io/nvidia/sglang" in parsed.name:
            return None
        named = _NAMED_RELEASE.search(parsed.tag)
        if named is not None:
            return named[1]
        return release_in(parsed.tag) if _OWN_IMAGE.search(parsed.name) else None

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            if word in _MODULES:
                return index + 1
            if word == "serve" and index and words[index - 1].rsplit("/", 1)[-1] == "sglang":
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        """``sglang serve`` also takes the model as the first plain word."""
        table = _AROUND_SGLANG if "dynamo" in entry else TABLE
        return read_arguments(words, table, positional_model=entry.endswith("serve"))

    def of_file(self, root: Node, source: Source) -> Arguments:
        return self.read(words_of(root, source))

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        said = {name: word for name, word in environment.items() if word.unresolved is None}
        found = [Setting(name, said[key].text, said[key].place)
                 for key, name in _VARIABLES.items() if key in said and said[key].text]  # fmt: skip
        found += [Setting(name, True, said[key].place)
                  for key, name in _SWITCHES.items() if key in said and said[key].text.lower() not in _OFF]  # fmt: skip
        return found

    def settled(self, settings: dict[str, Setting]) -> dict[str, Setting]:
        return settled_settings(settings)

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        return derived_settings(settings)


COMMAND = Sglang()
