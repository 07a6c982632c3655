"""A file for SGLang's ``--config``: YAML whose keys are the long flags."""

from __future__ import annotations

import re

from kvplan.deployments.commands.sglang import COMMAND
from kvplan.deployments.commands.sglang_flags import TABLE
from kvplan.deployments.commands.vllm_flags import TABLE as VLLM
from kvplan.deployments.config_words import root_of
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of

_KEY = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
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
        keys = {match[1].replace("_", "-") for match in _KEY.finditer(source.text)}
        known = keys & (TABLE.flags | _SHORT)
        return bool((known & set(TABLE.settings)) - VLLM.flags - _COMMON) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> Reading:
        root = root_of(source)
        if root is None or isinstance(root, Unreadable):
            return Reading([], [root] if root is not None else [])
        launch = Launch("sglang", COMMAND.of_file(root, source), source.at(min(root.key_lines.values(), default=1)))
        name = source.stem if source.path != "-" else "stdin"
        return Reading([deployment_of(launch, name=name, form=FORM.name, source=source)])


FORM = SglangConfig()
