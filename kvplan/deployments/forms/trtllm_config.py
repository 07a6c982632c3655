"""A file of options for TensorRT-LLM's LLM class: ``trtllm-serve MODEL --extra_llm_api_options FILE``."""

from __future__ import annotations

import re

from kvplan.deployments.commands.tensorrt_llm import COMMAND
from kvplan.deployments.commands.tensorrt_llm_flags import KEYS
from kvplan.deployments.config_words import root_of
from kvplan.deployments.found import Unresolved
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of

_KEY = re.compile(r"^([A-Za-z]\w*)[ \t]*:(?=\s|$)", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:kind|services|apiVersion|environment|infrastructure)[ \t]*:", re.MULTILINE)


class TensorRtLlmConfig:
    """``kv_cache_config:``, ``max_batch_size:`` and the like. The model is named by what starts the server."""

    name = "trtllm-config"
    order = 28
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = (b"kv_cache_config", b"cuda_graph_config", b"enable_attention_dp")

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or _OTHER_FORM.search(source.text):
            return False
        return bool({match[1] for match in _KEY.finditer(source.text)} & KEYS)

    def read(self, source: Source) -> Reading:
        root = root_of(source)
        if root is None or isinstance(root, Unreadable):
            return Reading([], [root] if root is not None else [])
        place = source.at(min(root.key_lines.values(), default=1))
        arguments = COMMAND.of_file(root, source)
        if "model" not in arguments.settings and all(item.name != "model" for item in arguments.unresolved):
            reason = "the command that starts the server names the model"
            arguments.unresolved.append(Unresolved("model", source.name, place, reason))
        name = source.title
        launch = Launch("tensorrt-llm", arguments, place)
        return Reading([deployment_of(launch, name=name, form=FORM.name, source=source)])


FORM = TensorRtLlmConfig()
