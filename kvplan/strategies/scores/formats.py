"""What KV formats lose by class of task: (least, most) points of the published scores, a gain counted as no loss."""

from __future__ import annotations

from kvplan.strategies.interface import Accuracy

_FP8_BLOG = "vLLM blogs 2026-04-22 and 2026-05-11"
_SGLANG = "SGLang documentation, quantized KV cache"
_TURBOQUANT = "vLLM blog 2026-05-11"
_GSM8K = "vLLM #40633 and #39074, Qwen3.5-35B-A3B"
_FP4_LIKE = "AIME25 and GPQA of FP4 with power-of-two scales, its nearest relative"


def _turboquant(reasoning: tuple[float, float], retrieval: tuple[float, float]) -> dict[str, Accuracy]:
    """Reasoning: the average of one model and four benchmarks of another. Retrieval: MRCR, 45.8 with 16 bits."""
    return {
        "reasoning": Accuracy(*reasoning, "AIME25, GPQA, MATH500 and LiveCodeBench", _TURBOQUANT),
        "retrieval": Accuracy(*retrieval, "MRCR at 256k", _TURBOQUANT),
    }


FORMATS: dict[str, dict[str, Accuracy]] = {
    "kv-fp8": {
        "retrieval": Accuracy(0.9, 2.7, "MRCR at 256k (94 to 98 % of 45.8 kept) and needles (89 of 91)", _FP8_BLOG),
        "reasoning": Accuracy(0.0, 4.0, "AIME25 of three models (4.0, 1.3, a gain), averages 0 to 1.4",
                              f"{_SGLANG}; {_FP8_BLOG}"),
        "chat": Accuracy(0.0, 0.4, "gsm8k (92.8 to 92.4 and 93.2)", _GSM8K),
    },
    "kv-int8": {"chat": Accuracy(0.0, 1.2, "gsm8k (92.8 to 91.6; 95.6 kept)", _GSM8K)},
    "kv-int4": {
        "retrieval": Accuracy(3.5, 3.5, "MRCR at 256k of TurboQuant 4-bit, its nearest relative", _TURBOQUANT),
        "reasoning": Accuracy(1.2, 4.8, "benchmarks of TurboQuant 4-bit, its nearest relative", _TURBOQUANT),
        "chat": Accuracy(0.0, 2.8, "gsm8k (95.6 to 96.8; 91.2 beside 94.0 with INT8)", "vLLM #39074 and #38854"),
    },
    "kv-nvfp4": {
        "retrieval": Accuracy(0.0, 1.0, "long context (below 1 %)", "NVIDIA blog 2025-12-08"),
        "reasoning": Accuracy(4.3, 40.0, _FP4_LIKE, _SGLANG),
        "chat": Accuracy(0.0, 1.0, "code and knowledge (below 1 %)", "NVIDIA blog 2025-12-08"),
    },
    "fp4_e2m1": {
        "reasoning": Accuracy(4.3, 40.0, "AIME25 (10.7, 17.3, 40.0) and GPQA (4.3, 18.8) of three models", _SGLANG),
        "chat": Accuracy(0.0, 0.3, "gsm8k of three models", _SGLANG),
    },
    "kv-q8_0": {"chat": Accuracy(0.0, 0.5, "MMLU and multiple choice, three models", "llama.cpp #21551")},
    "kv-q4_0": {"chat": Accuracy(0.3, 0.8, "MMLU and multiple choice, three models", "llama.cpp #21551")},
    "kv-turboquant-k8v4": _turboquant((0.0, 3.3), (2.8, 2.8)),
    "kv-turboquant-4bit": _turboquant((1.2, 4.8), (3.5, 3.5)),
    "kv-turboquant-k3v4": _turboquant((2.6, 19.7), (12.3, 12.3)),
    "kv-turboquant-3bit": _turboquant((4.0, 24.0), (14.6, 14.6)),
    "kv-kivi-2": {
        "retrieval": Accuracy(0.4, 1.1, "LongBench (38.72 to 38.30 and 43.54 to 42.43)", "KIVI repository"),
    },
}  # fmt: skip
"""Strategy id, or an engine's own word for a format -> class of task -> loss."""
