"""Weights that an engine does not read, or reads only in another form."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.weight_scheme import NOT_QUANTIZED
from kvplan.strategies.interface import Excuse

_GGUF_READERS = frozenset(("llama.cpp", "ollama", "generic"))
_GGUF_ON_TRIAL = frozenset(("vllm", "sglang"))


def weight_excuse(deployment: Deployment) -> Excuse | None:
    """Why this engine can't load such weights, if it can't."""
    engine, scheme = deployment.engine.name, deployment.weight_scheme
    asked, model = deployment.settings.weights, deployment.model
    if scheme.experts_only and model.experts is None and asked not in (None, model.dtype):
        return Excuse("no", "kernel", f"{model.name} has no routed experts, and {asked} quantizes nothing else")
    if scheme.name.startswith("mlx-") and engine not in ("mlx", "generic"):
        return Excuse("no", "kernel", f"{engine} does not read MLX weights ({scheme.name}): --engine mlx does")
    if scheme.llama_cpp and engine not in _GGUF_READERS | _GGUF_ON_TRIAL:
        return Excuse("no", "kernel", f"{engine} does not read GGUF weights ({scheme.name}): --engine llama.cpp does")
    return None


def weight_warnings(deployment: Deployment) -> list[str]:
    """What must be said about weights that are judged by their bytes alone."""
    engine, scheme = deployment.engine.name, deployment.weight_scheme
    if scheme.llama_cpp and engine in _GGUF_ON_TRIAL:
        return [f"{engine} reads GGUF weights on trial only, and slower than counted here"]
    foreign = not scheme.llama_cpp and not scheme.name.startswith("mlx-") and scheme.name not in NOT_QUANTIZED
    if foreign and engine in ("llama.cpp", "ollama") and scheme.name != "mxfp4":
        return [f"{engine} reads GGUF files: {scheme.name} weights are judged by their bytes; --weights q8_0 is near"]
    if foreign and engine == "mlx":
        return [f"mlx does not read {scheme.name} weights: they are judged by their bytes; --weights mlx-8bit is near"]
    return []
