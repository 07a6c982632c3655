"""Remedies in the words of llama-server and Ollama, in the form of the file."""

from __future__ import annotations

from kvplan.rules.context import Context
from kvplan.rules.gguf_models import is_llama_server

_VARIABLES = {"max_model_len": "OLLAMA_CONTEXT_LENGTH", "parallel": "OLLAMA_NUM_PARALLEL",
              "cache_type": "OLLAMA_KV_CACHE_TYPE", "cache_ram_mib": "LLAMA_ARG_CACHE_RAM",
              "runners": "OLLAMA_MAX_LOADED_MODELS", "n_cpu_moe": "LLAMA_ARG_N_CPU_MOE"}  # fmt: skip
_PARAMETERS = {"max_model_len": "num_ctx", "n_gpu_layers": "num_gpu"}
_ARGUMENTS = {"max_model_len": "ctx-size", "parallel": "parallel", "cache_ram_mib": "cache-ram",
              "runners": "models-max", "n_gpu_layers": "n-gpu-layers", "n_cpu_moe": "n-cpu-moe"}  # fmt: skip


def spelled_for_server(context: Context, name: str, value: object) -> str | None:
    """``--ctx-size 32768``, ``ctx-size = 32768``, ``OLLAMA_CONTEXT_LENGTH=8192``; None where another engine is meant.

    A length is one slot's: ``--ctx-size`` counts those of all slots.
    """
    if not is_llama_server(context.found.engine):
        return None
    if context.found.engine == "ollama":
        if context.found.form == "ollama-modelfile" and name in _PARAMETERS:
            return f"PARAMETER {_PARAMETERS[name]} {value}"
        return f"{_VARIABLES[name]}={value}" if name in _VARIABLES else None
    if name == "max_model_len" and isinstance(value, int) and context.judged is not None and context.judged.share:
        value = value * context.judged.share.sequences
    if name == "cache_type":
        return (
            f"cache-type-k = {value}, cache-type-v = {value}" if _is_preset(context) else f"-ctk {value} -ctv {value}"
        )
    flag = _ARGUMENTS.get(name)
    if flag is None:
        return None
    return f"{flag} = {value}" if _is_preset(context) else f"--{flag} {value}"


def room_on_device(context: Context) -> str:
    """How weights that do not fit find room: the CPU takes some, or there are fewer of them."""
    judged = context.judged
    if judged is None or judged.share is None:
        return "take a host with more GPU memory, or a smaller model"
    share, layers = judged.share, judged.deployment.model.layers
    if share.flexible:
        return "a file with fewer bits, or a GPU with more memory: the CPU's layers are read from host memory"
    one_layer = share.weights.high / layers
    kept = int((share.weights.high + min(share.free.low, 0.0)) // one_layer) if one_layer else 0
    said = spelled_for_server(context, "n_gpu_layers", kept) if 0 < kept < layers else None
    return f"a file with fewer bits, or {said}" if said else "a file with fewer bits, or a GPU with more memory"


def _is_preset(context: Context) -> bool:
    return context.found.form == "llama-presets"
