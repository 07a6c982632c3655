"""Serving engines: how each splits a GPU's memory, which KV formats it has kernels for, and how it is started.

One file an engine, found by its folder. A file defines ``ENGINE``, an object of ``interface.Engine``. Versions are
inputs: the same flags give another pool after a default changed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from kvplan.domain.deployment import EngineChoice
from kvplan.domain.host import Host
from kvplan.domain.weight_scheme import WeightScheme
from kvplan.engines.interface import Engine
from kvplan.errors import InputError, UnknownName

_NOT_ENGINES = {
    "drafting", "free_memory", "host_lines", "host_memory", "interface", "kv_layout", "offload_blocks", "pace",
    "processes", "served_files", "versions", "vllm_kv", "vllm_memory", "vllm_terms", "vllm_weights",
    "llama_cpp_caches", "llama_cpp_cells", "llama_cpp_pool", "mlx_pool", "sglang_pool", "sglang_rows", "sglang_v4",
    "tensorrt_llm_pool",
}  # fmt: skip


@cache
def all_engines() -> dict[str, Engine]:
    """Every engine of this folder by name."""
    names = sorted(info.name for info in iter_modules(__path__) if info.name not in _NOT_ENGINES)
    engines = [import_module(f"{__name__}.{name}").ENGINE for name in names]
    return {engine.name: engine for engine in engines}


@cache
def find_engine(name: str) -> Engine:
    """An engine by name or alias. Its own file is named for it, so that the others need not be loaded."""
    file = name.lower().replace(".", "_").replace("-", "_")
    if file.isidentifier() and file not in _NOT_ENGINES and find_spec(f"{__name__}.{file}") is not None:
        engine: Engine = import_module(f"{__name__}.{file}").ENGINE
        return engine
    for engine in all_engines().values():
        if name.lower() == engine.name or name.lower() in engine.aliases:
            return engine
    known = [alias for engine in all_engines().values() for alias in (engine.name, *engine.aliases)]
    raise UnknownName.of("engine", name, known, listing="known: " + ", ".join(all_engines()))


def natural_engine(host: Host) -> str:
    """What people run on such a host: vLLM on NVIDIA and AMD GPUs, llama.cpp on Apple and CPU-only machines.

    Accelerators whose engines are not modelled (TPU, Neuron, Gaudi) have the bare arithmetic.
    """
    if host.gpu is not None and host.gpu.vendor.lower() in {"nvidia", "amd"}:
        return "vllm"
    if host.gpu is not None and host.gpu.kernel_class in {"tpu", "neuron", "gaudi"}:
        return "generic"
    return "llama.cpp"


def _engine_of(scheme: WeightScheme | None) -> str | None:
    """What reads GGUF and MLX weights."""
    if scheme is None:
        return None
    if scheme.name.startswith("mlx-"):
        return "mlx"
    return "llama.cpp" if scheme.llama_cpp else None


def choose_engine(text: str | None, host: Host, scheme: WeightScheme | None = None) -> EngineChoice:
    """``NAME[@VERSION]`` -> an engine and a version; without a version the newest that is modelled.

    Without a name the natural one of the host, unless the weights are of a type that another engine is made for.
    """
    name, _, version = (text or _engine_of(scheme) or natural_engine(host)).partition("@")
    engine = find_engine(name)
    if text is not None and "@" in text and not version:
        raise InputError(f"--engine {text!r} names no version after the @")
    return EngineChoice(engine.name, engine.resolve_version(version) if version else engine.newest_version)
