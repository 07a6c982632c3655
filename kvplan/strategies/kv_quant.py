"""Fewer bytes for each element of the KV cache, in place. Adding a format is adding one row to ``STRATEGIES``.

How many bytes an element takes is the engine's business (``engines/*.py: kv_kernels``); here is what a format costs
in accuracy, and where that was published.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.core.accounts import Placement
from kvplan.strategies.interface import (
    RESIDENT,
    Accuracy,
    Ends,
    Excuse,
    Input,
    Situation,
    same,
)

_FORMULA = (
    "KV bytes = KV elements x bytes per element + head vectors x scale bytes",
    "T        = as hbm, with fewer bytes to read at the rate that the format's kernel reaches",
)


class KvQuant(NamedTuple):
    """One KV format, in GPU memory."""

    id: str
    title: str
    order: int
    kv_suffix: str | None
    accuracy: Accuracy
    evidence: tuple[str, ...] = ()
    caution: str = ""
    second_pool: bool = False
    formula: tuple[str, ...] = _FORMULA
    inputs: tuple[Input, ...] = ()
    stock: bool = True

    def excuse(self, situation: Situation) -> Excuse | None:
        return None

    def loss(self, situation: Situation) -> Accuracy:
        return self.accuracy

    def charges(self, situation: Situation) -> Ends:
        kernel = situation.kernels[str(self.kv_suffix)]
        return same(RESIDENT._replace(kv_rate_fraction=kernel.format.step_rate_fraction))

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        flag = situation.kernels[str(self.kv_suffix)].flag
        if situation.deployment.engine.name == "llama.cpp":
            return (f"-ctk {flag}", f"-ctv {flag}")
        if situation.deployment.engine.name == "tensorrt-llm":
            return (f"--kv_cache_dtype {flag}",)
        return (f"--kv-cache-dtype {flag}",)

    def notes(self, situation: Situation) -> tuple[str, ...]:
        return (self.caution,) if self.caution else ()


STRATEGIES = (
    KvQuant(
        "kv-fp8",
        "KV in FP8",
        1,
        "fp8",
        Accuracy(0.0, 2.0, "reasoning and 128k retrieval", "vLLM FP8 KV: MRCR recovery 97 to 98 % on 70B"),
        evidence=("vLLM blog: ITL slope 54 % of BF16 on H100 and B200; break-even near 7k tokens",),
    ),
    KvQuant(
        "kv-int4",
        "KV in 4-bit integers",
        4,
        "int4",
        Accuracy(1.0, 4.0, "reasoning (79.3 to 76.2) and 256k retrieval", "TurboQuant 4-bit on Qwen3-30B as a proxy"),
        evidence=("TurboQuant 4-bit: 75 % of BF16 throughput at equal bytes",),
        caution="no score of this very format was found: the loss is that of TurboQuant 4-bit",
    ),
    KvQuant(
        "kv-nvfp4",
        "KV in NVFP4",
        3,
        "nvfp4",
        Accuracy(
            0.0,
            5.0,
            "NVIDIA: below 1 on code, knowledge and long context; MXFP4 about 5 worse",
            "NVIDIA blog",
        ),
        evidence=("capacity 1.78 x FP8 (4.5 bits an element with its scales)",),
        caution="an FP4 cache with power-of-two scales lost 10.7 points and more on AIME25: test long reasoning first",
    ),  # fmt: skip
    KvQuant(
        "kv-q8_0",
        "KV in llama.cpp q8_0",
        2,
        "q8_0",
        Accuracy(None, None, "no task score found", "none"),
        evidence=("8.5 bits an element (block of 32 with one scale)",),
        caution="quantized V needs flash attention",
    ),
    KvQuant(
        "kv-q4_0",
        "KV in llama.cpp q4_0",
        5,
        "q4_0",
        Accuracy(None, None, "no task score found", "none"),
        evidence=("4.5 bits an element (block of 32 with one scale)",),
        caution="quantized V needs flash attention",
    ),
)
