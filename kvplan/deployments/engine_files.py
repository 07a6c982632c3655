"""An engine's own configuration file as a map -> its arguments: YAML inside ConfigMaps and of launchers.

vLLM's and SGLang's keys are their long flags. TensorRT-LLM's are the fields of its ``LlmArgs``, nested; what they mean
here is listed below (TensorRT-LLM 1.x, ``llmapi/llm_args.py``).
"""

from __future__ import annotations

import json
from typing import Final

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.interface import Source
from kvplan.deployments.options import open_reason, plain, words_of
from kvplan.deployments.yaml_tree import Node

TENSORRT_LLM: Final = {
    "model": ("model",),
    "tp": ("tensor_parallel_size",),
    "pp": ("pipeline_parallel_size",),
    "ep": ("moe_expert_parallel_size",),
    "max_num_seqs": ("max_batch_size",),
    "max_num_batched_tokens": ("max_num_tokens",),
    "max_model_len": ("max_seq_len",),
    "free_gpu_memory_fraction": ("kv_cache_config", "free_gpu_memory_fraction"),
    "host_cache_bytes_per_rank": ("kv_cache_config", "host_cache_size"),
    "kv_cache_dtype": ("kv_cache_config", "dtype"),
    "block_size": ("kv_cache_config", "tokens_per_block"),
    "speculative_config": ("speculative_config",),
    "enable_attention_dp": ("enable_attention_dp",),
}
"""Setting -> where a TensorRT-LLM file has it."""


def file_wins(engine: str) -> bool:
    """Whether the settings of such a file override those of the command line."""
    return bool(getattr(command_of_engine(engine), "file_wins", engine == "tensorrt-llm"))


def arguments_of_options(engine: str, options: Node | None, source: Source) -> Arguments:
    """The arguments that a map of options amounts to."""
    reader = getattr(command_of_engine(engine), "of_file", None)
    if reader is not None and options is not None:
        found: Arguments = reader(options, source)
        return found
    if engine != "tensorrt-llm":
        return command_of_engine(engine).read(words_of(options, source))
    arguments = Arguments()
    for name, path in TENSORRT_LLM.items():
        node = options.get(*path) if options is not None else None
        if node is None or (node.kind == "scalar" and node.text.lower() in ("", "null", "~")):
            continue
        text = node.text if node.kind == "scalar" else json.dumps(plain(node))
        value = text.lower() == "true" if text.lower() in ("true", "false") and not node.style else text
        arguments.put(name, value, Word(text, source.at(node.line), open_reason(text)))
    return arguments
