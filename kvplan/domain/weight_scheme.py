"""How weights are stored: bits per element of the quantized matrices, and what stays in 16 bits.

Embeddings, the head, norms and routers stay 16-bit in the schemes of serving engines; GGUF mixes quantize them too
and have one average over the whole file.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.interval import Interval
from kvplan.domain.model import WeightElements


class WeightScheme(NamedTuple):
    """One way to store weights."""

    name: str
    linear_bits: float
    """Average bits of an element of the quantized matrices, scales included."""
    kept_bits: float = 16.0
    """Bits of embeddings, head, norms, routers and towers."""
    experts_only: bool = False
    """Only routed experts are quantized (MXFP4 of gpt-oss)."""
    llama_cpp: bool = False
    """A GGUF type: read by llama.cpp, ollama and their kin."""
    source: str = ""
    read_fraction: Interval = Interval(1.0, 1.0, 1.0)
    """Rate at which decode reads such weights, relative to 16-bit ones of the same number of bytes."""

    def bytes_of(self, weights: WeightElements) -> tuple[float, float]:
        """(bytes of everything but routed experts, bytes of the routed experts)."""
        kept_bits = self.kept_bits
        dense_bits = kept_bits if self.experts_only else self.linear_bits
        kept = weights.embedding + weights.lm_head + weights.other + weights.towers
        dense = kept * kept_bits + (weights.linear + weights.mtp) * dense_bits
        return dense / 8, weights.routed_experts * self.linear_bits / 8


_MODELS_SECTION_5 = "arithmetic of the layout: element bits + scale bits over the group"
_K_QUANT = Interval(0.55, 0.72, 0.90)
"""llama.cpp decode of 8B: Q4_K_M reaches 0.59 to 0.73 of the rate on GeForce, 0.42 to 0.62 on Macs; F16 0.74 to 0.90"""
_LLAMA_QUANTIZE = "llama.cpp quantize table, Llama-3.1-8B mixes replayed on Llama-3.1-70B and Qwen3 (4.82 to 4.91)"

SCHEMES: dict[str, WeightScheme] = {
    scheme.name: scheme
    for scheme in (
        WeightScheme("fp32", 32.0, kept_bits=32.0, source="IEEE 754 single"),
        WeightScheme("bf16", 16.0, source="16 bits"),
        WeightScheme("fp16", 16.0, source="16 bits"),
        WeightScheme("fp8", 8.002, source="e4m3 + fp32 scale per 128 x 128 block: " + _MODELS_SECTION_5),
        WeightScheme("int8", 8.01, source="8 bits + fp32 scale per row: " + _MODELS_SECTION_5),
        WeightScheme("awq-int4", 4.15625, source="4 bits, group 128 with zeros: " + _MODELS_SECTION_5),
        WeightScheme("gptq-int4", 4.125, source="4 bits, symmetric group 128: " + _MODELS_SECTION_5),
        WeightScheme("int4-g32", 4.5, source="4 bits + 16-bit scale per 32: " + _MODELS_SECTION_5),
        WeightScheme("int4-g32-experts", 4.5, experts_only=True, source="Kimi K2 Thinking: " + _MODELS_SECTION_5),
        WeightScheme("nvfp4", 4.5, source="e2m1 + fp8 scale per 16: " + _MODELS_SECTION_5),
        WeightScheme("mxfp4", 4.25, experts_only=True, source="e2m1 + 8-bit scale per 32: " + _MODELS_SECTION_5),
        WeightScheme("bnb-nf4", 4.127, source="NF4, double quantization: " + _MODELS_SECTION_5),
        WeightScheme("q8_0", 8.5, kept_bits=8.5, llama_cpp=True, source=_LLAMA_QUANTIZE),
        WeightScheme("q6_k", 6.5633, kept_bits=6.5633, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q5_k_m", 5.67, kept_bits=5.67, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q4_k_m", 4.85, kept_bits=4.85, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q3_k_m", 3.9, kept_bits=3.9, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
    )
}
