"""A file for ``vllm serve --config``: YAML whose keys are the long flags."""

from __future__ import annotations

import re

from kvplan.deployments.commands.vllm_flags import TABLE
from kvplan.deployments.config_words import keys_of
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import read_config

_OTHER_FORM = re.compile(r"^(?:kind|services)[ \t]*:", re.MULTILINE)
_OWN = {"model", "dtype", "task", "runner", "config", "quantization", "host", "port", "seed", "revision", "tokenizer"}
"""Keys that files of other programs have as well."""


class VllmConfig:
    """``max-model-len: 8192`` and the like; dashes and underscores alike."""

    name = "vllm-config"
    order = 30
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or _OTHER_FORM.search(source.text):
            return False
        keys = keys_of(source)
        known = keys & TABLE.flags
        return bool((known & set(TABLE.settings)) - _OWN) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> Reading:
        return read_config(source, "vllm", self.name)


FORM = VllmConfig()
