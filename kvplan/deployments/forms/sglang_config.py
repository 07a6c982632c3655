"""A file for SGLang's ``--config``: YAML whose keys are the long flags."""

from __future__ import annotations

import re

from kvplan.deployments.commands.sglang_flags import TABLE
from kvplan.deployments.commands.vllm_flags import TABLE as VLLM
from kvplan.deployments.config_words import keys_of
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import read_config

_OTHER_FORM = re.compile(r"^(?:kind|services|apiVersion)[ \t]*:", re.MULTILINE)
_SHORT = {"tp", "pp", "dp"}
"""Beginnings of flags that stand for them."""
_COMMON = {"tp-size", "pp-size", "dp-size", "ep-size", "device"}
"""Keys that files of other launchers have as well."""


class SglangConfig:
    """``model-path:``, ``mem-fraction-static:`` and the like."""

    name = "sglang-config"
    order = 29
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        """A key that fills a setting here and that vLLM does not have, and no more unknown keys than known ones."""
        if source.suffix not in (".yaml", ".yml", "") or _OTHER_FORM.search(source.text):
            return False
        keys = keys_of(source)
        known = keys & (TABLE.flags | _SHORT)
        return bool((known & set(TABLE.settings)) - VLLM.flags - _COMMON) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> Reading:
        return read_config(source, "sglang", self.name)


FORM = SglangConfig()
