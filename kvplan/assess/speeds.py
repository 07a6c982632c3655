"""What a step and a prefill reach with this model, this type of weights and this generation of GPU.

Constants of classes, each with its source; what differs from one GPU to the next is in the catalog, what differs from
one engine to the next in ``engines/pace.py``.
"""

from __future__ import annotations

from typing import Final

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.model import KvLayers, Model
from kvplan.engines import find_engine

REFERENCE_LAYERS: Final = 32
"""Fixed times of a step were measured with models of 32 to 36 layers."""
LATENT_LAYER: Final = 0.45
"""Kernels of a layer of MLA or with a recurrent state, beyond those of plain attention, relative to a whole layer.

Source: DeepSeek-R1, Kimi-K2.5 and Qwen3.5 in closed loops at 4 to 8 users.
"""
INDEX_LAYER: Final = 1.3
"""The same for the index of sparse attention: GLM-5 in closed loops."""
ROUTING_AGREEMENT: Final = 0.4
"""Share of a batch's tokens that choose experts which others have chosen.

Source: how closed loops slow down with users, five models; half of the rows.
"""
FP8_GAIN: Final = 2.0
"""Arithmetic with FP8 weights, relative to 16 bits, where the chip multiplies them: the data sheets' ladder."""
FP4_GAIN: Final = 4.0
"""... with FP4 weights."""
FP8_NATIVE: Final = {"ada", "hopper", "blackwell_dc", "blackwell_rtx", "cdna3", "cdna4"}
FP4_NATIVE: Final = {"blackwell_dc", "blackwell_rtx", "cdna4"}
_BLACKWELL: Final = {"blackwell_dc", "blackwell_rtx"}
FP8_PREFILL_GAIN: Final = Interval(1.3, 1.7, 2.0)
"""Prefill with FP8 weights, relative to 16 bits, on GPUs that multiply them natively; the ladder says 2."""
FP4_PREFILL_GAIN: Final = Interval(1.7, 2.6, 3.6)
"""... with FP4 weights; the ladder says 4. Source: served Llama-3.1-70B on B200."""
_FLOAT4: Final = {"nvfp4", "mxfp4"}
_EXPERT_SURCHARGES: Final = {
    "fp8": Interval(0.1, 0.57, 1.0), "fp4": Interval(0.1, 0.57, 1.0), "int4": Interval(0.4, 0.9, 1.6),
}  # fmt: skip
"""Time that grouped kernels take for experts, beyond other weights of as many bytes: Hopper and older.

Source: MiniMax-M2.5 and DeepSeek-R1 (FP8), gpt-oss (MXFP4), Kimi-K2.5 (INT4) on H100 and H200 in closed loops.
"""
_BLACKWELL_EXPERT_SURCHARGES: Final = {
    "fp8": Interval(0.0, 0.38, 0.8), "fp4": Interval(-0.1, 0.0, 0.3), "int4": Interval(1.0, 2.1, 3.0),
}  # fmt: skip
"""... Blackwell, the same models on B200 and B300. INT4 is unpacked to 16 bits there."""


def weight_class(scheme: str) -> str:
    """``16-bit``, ``fp8``, ``fp4``, ``int4`` ... of a weight scheme: what decides which kernels multiply with it."""
    routed = scheme.removesuffix("-experts").rpartition("+")[2]
    if routed in _FLOAT4:
        return "fp4"
    if routed.startswith(("fp8", "mxfp8")):
        return "fp8"
    return "int4" if "int4" in routed else "other"


def kernel_layers(model: Model) -> float:
    """Layers by the kernels that a step launches for them."""
    extra = sum(_extra_kernels(layers) for layers in model.kv)
    return model.layers + extra


def _extra_kernels(layers: KvLayers) -> float:
    if layers.index_heads:
        return INDEX_LAYER * layers.layers
    return LATENT_LAYER * layers.layers if layers.latent or layers.state is not None else 0.0


def step_overhead_s(gpu: Gpu, deployment: Deployment, end: int) -> float:
    """Fixed time of a step: what the GPU needs for a model of the reference's depth, for this one's kernels."""
    pace = find_engine(deployment.engine.name).pace
    factor = pace.step_factor[end] * (pace.blackwell_factor if gpu.kernel_class in _BLACKWELL else 1.0)
    return gpu.step_overhead_s[end] * factor * kernel_layers(deployment.model) / REFERENCE_LAYERS


def decode_gain(deployment: Deployment, gpu: Gpu) -> float:
    """Arithmetic of decode relative to 16 bits."""
    kind = weight_class(deployment.weight_scheme.name)
    if kind == "fp4" and gpu.kernel_class in FP4_NATIVE:
        return FP4_GAIN
    return FP8_GAIN if kind == "fp8" and gpu.kernel_class in FP8_NATIVE else 1.0


def prefill_gain(deployment: Deployment, gpu: Gpu, end: int) -> float:
    """Arithmetic of prefill relative to 16 bits; experts alone in fewer bits leave the rest as it is."""
    kind = weight_class(deployment.weight_scheme.name)
    if kind == "fp4" and gpu.kernel_class in FP4_NATIVE:
        return FP4_PREFILL_GAIN[2 - end]
    return FP8_PREFILL_GAIN[2 - end] if kind == "fp8" and gpu.kernel_class in FP8_NATIVE else 1.0


def expert_surcharge(deployment: Deployment, end: int) -> float:
    """Time that reading experts takes beyond other weights of as many bytes, as a share of it."""
    gpu = deployment.host.gpu
    if deployment.model.experts is None or gpu is None or deployment.weight_scheme.llama_cpp:
        return 0.0
    table = _BLACKWELL_EXPERT_SURCHARGES if gpu.kernel_class in _BLACKWELL else _EXPERT_SURCHARGES
    found = table.get(weight_class(deployment.weight_scheme.name))
    return 0.0 if found is None or gpu.vendor != "nvidia" else found[end]
