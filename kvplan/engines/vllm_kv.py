"""The KV formats of vLLM: bytes, flags, the GPUs whose kernels read them, and since which version."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import FP8_DS_MLA, KvFormat
from kvplan.engines.interface import KvKernel

_FLASHINFER = {"turing", "ampere", "ada", "hopper", "blackwell_dc", "blackwell_rtx"}
_TRITON = _FLASHINFER | {"cdna3", "cdna4"}
_FP8 = KvFormat("fp8", 1.0, step_rate_fraction=0.92)
_INT8 = KvFormat("int8_per_token_head", 1.0, vector_bytes=4.0)
_FP8_SCALED = KvFormat("fp8_per_token_head", 1.0, vector_bytes=4.0)
_INT4 = KvFormat("int4_per_token_head", 0.5, vector_bytes=4.0, step_rate_fraction=0.75)
_NVFP4 = KvFormat("nvfp4", 0.5625, step_rate_fraction=0.85)
_PAGES = "vLLM kv_cache_interface.py page sizes; attention backend support matrix"
_NO_RUN = "no confirmed run found"

_TURBOQUANT = {
    "k8v4": (0.75, 2.0, 0.75),
    "4bit": (0.5, 3.0, 0.75),
    "k3v4": (0.4375, 3.0, 0.68),
    "3bit": (0.375, 3.0, 0.66),
}
"""Mean bytes of a key and a value element, mean bytes of the norms beside a vector, offline throughput against BF16."""
_TURBOQUANT_LAYER_S = Interval(4e-5, 1e-4, 2e-4)
"""Llama-3.3-70B on 4 H100 at 1k tokens: 1.4 to 1.7 x the latency of BF16 at 1 to 64 sequences, over 80 layers."""
_PAGE_BYTES = "vLLM turboquant/config.py: 196, 134, 118 and 102 bytes for a key and a value of 128 elements"
_PLAIN_ONLY = "vLLM's TurboQuant began without sliding windows and hybrid models; later support was not found"


def kv_kernels(kernel_class: str) -> dict[str, KvKernel]:
    """Strategy suffix -> how vLLM stores it on GPUs of this class."""
    kernels: dict[str, KvKernel] = {}
    if kernel_class in _FLASHINFER | {"cdna3", "cdna4", "xe2"}:
        kernels["fp8"] = KvKernel(_FP8, "fp8", _PAGES, reads_latents=True, indexed_format=FP8_DS_MLA)
    if kernel_class in _TRITON | {"volta", "cdna2"}:
        kernels["int8"] = KvKernel(_INT8, "int8_per_token_head", _PAGES, since="0.20")
    if kernel_class == "volta":
        source = f"vLLM's Triton attention on SM70: {_NO_RUN}"
        kernels["int8"] = kernels["int8"]._replace(verified=False, source=source)
    if kernel_class in _TRITON:
        kernels["fp8-per-token-head"] = KvKernel(_FP8_SCALED, "fp8_per_token_head", _PAGES, since="0.20")
        kernels["int4"] = KvKernel(_INT4, "int4_per_token_head", _PAGES, since="0.23")
        kernels.update(_turboquant(kernel_class in {"ampere", "ada", "hopper"}))
    if kernel_class == "blackwell_dc":
        kernels["nvfp4"] = KvKernel(_NVFP4, "nvfp4", _PAGES)
    if kernel_class == "blackwell_rtx":
        unsettled = f"vLLM nvfp4 on SM120: a pull request; {_NO_RUN}"
        kernels["nvfp4"] = KvKernel(_NVFP4, "nvfp4", unsettled, verified=False)
    return kernels


def _turboquant(verified: bool) -> dict[str, KvKernel]:
    """Four formats; the first two layers and the last two of a dense model stay in 16 bits."""
    source = _PAGE_BYTES if verified else f"vLLM names no least GPU for TurboQuant's KV path: {_NO_RUN} on this one"
    return {
        f"turboquant-{name}": KvKernel(
            KvFormat(f"turboquant_{name}", width, norms, rate, layer_s=_TURBOQUANT_LAYER_S, native_layers=4),
            f"turboquant_{name}" if name == "k8v4" else f"turboquant_{name}_nc",
            source,
            verified,
            since="0.20",
            plain_only=_PLAIN_ONLY,
        )
        for name, (width, norms, rate) in _TURBOQUANT.items()
    }
