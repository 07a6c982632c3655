"""A file for ``vllm serve --config``: YAML whose keys are the long flags."""

from __future__ import annotations

import re

from kvplan.deployments.commands.vllm import COMMAND
from kvplan.deployments.commands.vllm_flags import TABLE
from kvplan.deployments.config_words import root_of
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of

_KEY = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
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
        keys = {match[1].replace("_", "-") for match in _KEY.finditer(source.text)}
        known = keys & TABLE.flags
        return bool((known & set(TABLE.settings)) - _OWN) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> Reading:
        root = root_of(source)
        if root is None or isinstance(root, Unreadable):
            return Reading([], [root] if root is not None else [])
        launch = Launch("vllm", COMMAND.of_file(root, source), source.at(min(root.key_lines.values(), default=1)))
        name = source.stem if source.path != "-" else "stdin"
        return Reading([deployment_of(launch, name=name, form=FORM.name, source=source)])


FORM = VllmConfig()
