"""How weights are stored: bits per element of the quantized matrices, and what stays in 16 bits.

Embeddings, the head, norms and routers stay 16-bit in the schemes of serving engines; GGUF mixes quantize them too
and have one average over the whole file.
"""

from typing import Final, NamedTuple

from kvplan.domain.interval import Interval
from kvplan.domain.model import WeightElements

NOT_QUANTIZED: Final = frozenset(("bf16", "fp16", "fp32"))
"""Weights as training left them, by the name of their dtype."""


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
    expert_bits: float | None = None
    """Routed experts are stored in so many bits; None: as the other matrices."""

    def bytes_of(self, weights: WeightElements) -> tuple[float, float]:
        """(bytes of everything but routed experts, bytes of the routed experts), as the checkpoint stores them."""
        mtp, mtp_experts = self.mtp_bytes(weights)
        kept = weights.embedding + weights.lm_head + weights.other + weights.towers
        dense = kept * self.kept_bits + weights.linear * self.dense_bits
        return dense / 8 + mtp, weights.routed_experts * self.routed_bits / 8 + mtp_experts

    def mtp_bytes(self, weights: WeightElements) -> tuple[float, float]:
        """The same of the multi-token-prediction heads alone."""
        matrices = weights.mtp - weights.mtp_kept - weights.mtp_experts
        dense = weights.mtp_kept * self.kept_bits + matrices * self.dense_bits
        return dense / 8, weights.mtp_experts * self.routed_bits / 8

    @property
    def dense_bits(self) -> float:
        """Bits of a matrix outside the routed experts."""
        return self.kept_bits if self.experts_only else self.linear_bits

    @property
    def routed_bits(self) -> float:
        """Bits of an element of a routed expert."""
        return self.expert_bits or self.linear_bits


_MODELS_SECTION_5 = "arithmetic of the layout: element bits + scale bits over the group"
_K_QUANT = Interval(0.55, 0.72, 0.90)
"""llama.cpp decode of 8B: Q4_K_M reaches 0.59 to 0.73 of the rate on GeForce, 0.42 to 0.62 on Macs; F16 0.74 to 0.90"""
_PLAIN_BLOCKS = Interval(0.62, 0.84, 1.0)
"""Q4_0 of a 7B: 1.0 to 1.2 x the rate of K-quants of as many bytes on A100 and Macs."""
_LLAMA_QUANTIZE = "llama.cpp quantize table, Llama-3.1-8B mixes replayed on Llama-3.1-70B and Qwen3 (4.82 to 4.91)"
_LLAMA_TABLE = "llama.cpp quantize table, bits per weight of Llama-3.1-8B"
_GGML_BLOCKS = "block size of ggml-common.h, head of Llama-3.1-8B in q6_k"
_THREE_BITS = Interval(0.42, 0.55, 0.85)
"""the same table's tokens/s x GiB relative to F16: IQ3_XXS 0.52, Q2_K 0.54, IQ3_M 0.57, Q3_K_M 0.62; one machine"""
_TWO_BITS = Interval(0.3, 0.43, 0.7)
"""... IQ2_XXS 0.41, IQ2_M 0.47, IQ1_M 0.34"""
_MLX_AFFINE = "mlx_lm.convert -q: embedding and head too, 16-bit scale and bias over a group of 64"


def _mix(name: str, bits: float, source: str, read_fraction: Interval) -> WeightScheme:
    """A GGUF mix whose average holds for embeddings and head too."""
    return WeightScheme(name, bits, kept_bits=bits, llama_cpp=True, source=source, read_fraction=read_fraction)


class _Schemes(dict[str, WeightScheme]):
    """The named schemes; what a checkpoint may have beyond them (``int4-g64-zp``) is found by subscription alone."""

    def __missing__(self, name: str) -> WeightScheme:
        from kvplan.domain.derived_scheme import derived

        return derived(name)


SCHEMES: dict[str, WeightScheme] = _Schemes(
    (scheme.name, scheme)
    for scheme in (
        WeightScheme("fp32", 32.0, kept_bits=32.0, source="IEEE 754 single"),
        WeightScheme("bf16", 16.0, source="16 bits"),
        WeightScheme("fp16", 16.0, source="16 bits"),
        WeightScheme("fp8", 8.001953125, source="e4m3 + fp32 scale per 128 x 128 block: " + _MODELS_SECTION_5),
        WeightScheme("int8", 8.01, source="8 bits + fp32 scale per row: " + _MODELS_SECTION_5),
        WeightScheme("awq-int4", 4.15625, source="4 bits, group 128 with zeros: " + _MODELS_SECTION_5),
        WeightScheme("gptq-int4", 4.125, source="4 bits, symmetric group 128: " + _MODELS_SECTION_5),
        WeightScheme("int4-g32", 4.5, source="4 bits + 16-bit scale per 32: " + _MODELS_SECTION_5),
        WeightScheme("int4-g32-experts", 4.5, experts_only=True, source="Kimi K2 Thinking: " + _MODELS_SECTION_5),
        WeightScheme("nvfp4", 4.5, source="e2m1 + fp8 scale per 16: " + _MODELS_SECTION_5),
        WeightScheme("mxfp4", 4.25, experts_only=True, source="e2m1 + 8-bit scale per 32: " + _MODELS_SECTION_5),
        *(
            WeightScheme(f"mlx-{bits}bit", bits + 0.5, kept_bits=bits + 0.5, source=_MLX_AFFINE)
            for bits in (8, 6, 5, 4, 3)
        ),
        WeightScheme("bnb-nf4", 4.127, source="NF4, double quantization: " + _MODELS_SECTION_5),
        WeightScheme("q8_0", 8.5, kept_bits=8.5, llama_cpp=True, source=_LLAMA_QUANTIZE),
        WeightScheme("q6_k", 6.5633, kept_bits=6.5633, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q5_k_m", 5.67, kept_bits=5.67, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q4_k_m", 4.85, kept_bits=4.85, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        WeightScheme("q3_k_m", 3.9, kept_bits=3.9, llama_cpp=True, source=_LLAMA_QUANTIZE, read_fraction=_K_QUANT),
        _mix("q5_k_s", 5.55, _LLAMA_QUANTIZE, _K_QUANT),
        _mix("q4_k_s", 4.62, _LLAMA_QUANTIZE, _K_QUANT),
        _mix("iq4_xs", 4.39, _LLAMA_QUANTIZE, _K_QUANT),
        _mix("iq4_nl", 4.6818, _LLAMA_TABLE, _K_QUANT),
        _mix("q3_k_l", 4.2979, _LLAMA_TABLE, _K_QUANT),
        _mix("q3_k_s", 3.6429, _LLAMA_TABLE, _K_QUANT),
        _mix("iq3_m", 3.7628, _LLAMA_TABLE, _THREE_BITS),
        _mix("iq3_s", 3.6606, _LLAMA_TABLE, _THREE_BITS),
        _mix("iq3_xs", 3.4977, _LLAMA_TABLE, _THREE_BITS),
        _mix("iq3_xxs", 3.2548, _LLAMA_TABLE, _THREE_BITS),
        _mix("q2_k", 3.1593, _LLAMA_TABLE, _THREE_BITS),
        _mix("q2_k_s", 2.9697, _LLAMA_TABLE, _THREE_BITS),
        _mix("iq2_m", 2.9294, _LLAMA_TABLE, _TWO_BITS),
        _mix("iq2_s", 2.7403, _LLAMA_TABLE, _TWO_BITS),
        _mix("iq2_xs", 2.5882, _LLAMA_TABLE, _TWO_BITS),
        _mix("iq2_xxs", 2.3824, _LLAMA_TABLE, _TWO_BITS),
        _mix("iq1_m", 2.1460, _LLAMA_TABLE, _TWO_BITS),
        _mix("iq1_s", 2.0042, _LLAMA_TABLE, _TWO_BITS),
        _mix("q5_1", 6.04, _GGML_BLOCKS, _PLAIN_BLOCKS),
        _mix("q5_0", 5.57, _GGML_BLOCKS, _PLAIN_BLOCKS),
        _mix("q4_1", 5.1, _GGML_BLOCKS, _PLAIN_BLOCKS),
        _mix("q4_0", 4.63, _GGML_BLOCKS, _PLAIN_BLOCKS),
        _mix("tq2_0", 2.52, _GGML_BLOCKS + ", embedding in q4_k", _TWO_BITS),
        _mix("tq1_0", 2.19, _GGML_BLOCKS + ", embedding in q4_k", _TWO_BITS),
        _mix("q1_0", 1.125, "block size of ggml-common.h", _TWO_BITS),
        WeightScheme(
            "mxfp4_moe",
            4.25,
            kept_bits=8.5,
            experts_only=True,
            llama_cpp=True,
            read_fraction=_K_QUANT,
            source="GGUF: routed experts in mxfp4, the rest in q8_0; block sizes of ggml-common.h",
        ),
        WeightScheme(
            "nvfp4_gguf", 4.5, llama_cpp=True, read_fraction=_K_QUANT, source="36 bytes a 64 elements: ggml-common.h"
        ),
    )
)
