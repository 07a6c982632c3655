"""Routed experts that do not fit in HBM live in host memory; attention, shared weights and KV stay on the GPU.

A token multiplies with few of the experts, so that CPU cores keep pace with them where they would not with a dense
model's layers. What it costs is the business of its methods (``methods/experts.py``): the engine's own where it has
one, else llama.cpp's.
"""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.domain.deployment import Deployment
from kvplan.engines.interface import LLAMA_SERVERS
from kvplan.engines.versions import release
from kvplan.strategies.by_method import ByMethod
from kvplan.strategies.interface import Excuse, Situation
from kvplan.strategies.methods.experts import LLAMA_CPP
from kvplan.units import GIB

_COUNT_BUILD = 6090
"""llama.cpp counts layers (``-ncmoe``) since this build, of August 2025; before, their tensors were named (``-ot``)."""
_NAMED_PARAMS_VERSION = (0, 17)
"""vLLM moves the weights that ``--cpu-offload-params`` names since this version."""
_KT_METHODS = {"bf16": "BF16", "fp8": "FP8", "mxfp4": "MXFP4", "gptq-int4": "GPTQ_INT4",
               "int4-g32": "RAWINT4", "int4-g32-experts": "RAWINT4"}  # fmt: skip
"""Weight schemes that the CPU kernels of KTransformers read as the GPU does; GGUF files go by LLAMAFILE."""


class ExpertOffload(ByMethod):
    """llama.cpp ``-ncmoe``, KTransformers, vLLM ``--cpu-offload-params``."""

    id = "expert-offload"
    title = "some MoE experts in DRAM"
    order = 2
    default = LLAMA_CPP
    stock = True

    def excuse(self, situation: Situation) -> Excuse | None:
        model = situation.deployment.model
        if model.experts is None or not model.weights.routed_experts:
            return Excuse("na", "topology", f"{model.name} has no routed experts")
        return super().excuse(situation)

    def stock_flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        deployment = situation.deployment
        if deployment.engine.name in LLAMA_SERVERS:
            return _llama_cpp(deployment, _layers(deployment, placed))
        if deployment.engine.name == "sglang":
            return _sglang(deployment, placed)
        if release(deployment.engine.version) < _NAMED_PARAMS_VERSION:
            return None
        moved_gib = math.ceil(placed.weights_spilled_bytes / GIB)
        return (f"--cpu-offload-gb {moved_gib}", "--cpu-offload-params w13_weight w2_weight")

    def notes(self, situation: Situation) -> tuple[str, ...]:
        deployment = situation.deployment
        if deployment.engine.name in LLAMA_SERVERS and deployment.layout.gpus > 1:
            several = "-ncmoe counts layers from the first: -ts must give the GPU of those layers more of them"
            return (*super().notes(situation), several)
        return super().notes(situation)


def _spilled_fraction(deployment: Deployment, placed: Placement) -> float:
    """Share of one GPU's routed experts that is in host memory."""
    return min(1.0, placed.weights_spilled_bytes * deployment.layout.expert_gpus / deployment.weight_parts.experts)


def _layers(deployment: Deployment, placed: Placement) -> int:
    """Layers counted from the first whose experts are in host memory.

    Dense layers count as well: a few come before all others (DeepSeek), many take turns with them (Llama 4).
    """
    model = deployment.model
    moe_layers = model.experts.moe_layers if model.experts else 0
    spilled = min(math.ceil(moe_layers * _spilled_fraction(deployment, placed) - 1e-6), moe_layers)
    dense = model.layers - moe_layers
    if 4 * dense <= moe_layers:
        return dense + spilled
    return math.ceil(spilled * model.layers / moe_layers)


def _llama_cpp(deployment: Deployment, layers: int) -> tuple[str, ...]:
    if deployment.engine.name == "ollama" or int(deployment.engine.version.removeprefix("b")) >= _COUNT_BUILD:
        return (f"-ncmoe {layers}",)
    numbers = "|".join(str(layer) for layer in range(layers))
    return (f"-ot 'blk\\.({numbers})\\.ffn_.*_exps\\.=CPU'",)


def _sglang(deployment: Deployment, placed: Placement) -> tuple[str, ...] | None:
    """KTransformers' kernels, if they read this form of weights: so many experts of every layer stay on the GPU."""
    scheme, host, model = deployment.weight_scheme, deployment.host, deployment.model
    kernel = "LLAMAFILE" if scheme.llama_cpp else _KT_METHODS.get(scheme.name)
    if kernel is None or model.experts is None or host.cpu_cores is None:
        return None
    kept = math.floor(model.experts.experts * (1.0 - _spilled_fraction(deployment, placed)))
    cores = max(1, math.floor(host.cpu_cores.best) - 2 - deployment.layout.gpus)
    return (
        "--kt-weight-path PATH/TO/EXPERTS",
        f"--kt-method {kernel}",
        f"--kt-cpuinfer {cores}",
        f"--kt-threadpool-count {host.numa_nodes or 1}",
        f"--kt-num-gpu-experts {kept}",
    )


STRATEGIES = (ExpertOffload(),)
