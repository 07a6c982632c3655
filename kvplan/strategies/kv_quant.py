"""Fewer bytes for each element of the KV cache, in place. Adding a format is adding one row to ``STRATEGIES``.

How many bytes an element takes is the engine's business (``engines/*.py: kv_kernels``); here is what a format costs
in accuracy, and where that was published.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.core.accounts import Placement
from kvplan.domain.model import Model
from kvplan.engines import find_engine
from kvplan.engines.interface import KvKernel
from kvplan.strategies.interface import (
    NO_SCORE,
    RESIDENT,
    Accuracy,
    Ends,
    Excuse,
    Input,
    Method,
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
    listed: bool = True

    def excuse(self, situation: Situation) -> Excuse | None:
        """An engine may have the format, and no way to choose it here: mlx-lm for more than one user."""
        if self._chosen(situation) is not None:
            return None
        name = situation.deployment.engine.name
        return Excuse("na", "kernel", f"{name} has such a KV cache, but no flag of its server chooses it here")

    def method(self, situation: Situation) -> Method | None:
        return None

    def proof(self, situation: Situation) -> tuple[str, ...]:
        return self.evidence

    def loss(self, situation: Situation) -> Accuracy:
        return self.accuracy

    def charges(self, situation: Situation) -> Ends:
        kernel = situation.kernels[str(self.kv_suffix)]
        return same(
            RESIDENT._replace(
                kv_rate_fraction=kernel.format.step_rate_fraction,
                resident_fraction=1.0 + scores_fraction(kernel, situation.deployment.model),
            )
        )

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return self._chosen(situation)

    def _chosen(self, situation: Situation) -> tuple[str, ...] | None:
        kernel = situation.kernels[str(self.kv_suffix)]
        return find_engine(situation.deployment.engine.name).kv_flags(kernel, situation.deployment)

    def notes(self, situation: Situation) -> tuple[str, ...]:
        found = [self.caution] if self.caution else []
        if situation.kernels[str(self.kv_suffix)].unfused_chunk_tokens:
            found.append("prefill attention is not fused over such a cache: the scores of a chunk are counted with KV")
        return tuple(found)


def scores_fraction(kernel: KvKernel, model: Model) -> float:
    """Attention scores of one prefill chunk over the KV bytes of a token, both for a token of context.

    Query heads x tokens of the chunk x 2 bytes, for one layer at a time; 0 where a fused kernel holds none.
    """
    growing = [layers for layers in model.kv if layers.grows]
    kept = sum(
        layers.layers * kernel.format.bytes_of(layers.elements_per_token, layers.vectors_per_token)
        for layers in growing
    )
    scores = model.attention_heads * kernel.unfused_chunk_tokens * 2.0
    return scores / kept if kept else 0.0


_TURBOQUANT = "vLLM blog 2026-05-11: reasoning of Qwen3-30B-A3B (79.3) and MiniMax-M2.7, MRCR at 256k (45.8)"


def _turboquant(name: str, order: int, bits: float, loss: tuple[float, float], listed: bool = True) -> KvQuant:
    """One of vLLM's four: rotated, then codebooks for keys and values with a norm beside each vector."""
    return KvQuant(
        f"kv-turboquant-{name}",
        f"KV in TurboQuant {name}",
        order,
        f"turboquant-{name}",
        Accuracy(*loss, "reasoning and 256k retrieval", _TURBOQUANT),
        evidence=(
            f"{bits:g} bits an element with its norms, and 4 layers in 16 bits: capacities of two models as published",
            "Llama-3.3-70B on 4 H100: 66 to 75 % of BF16's throughput, 1.4 to 1.7 x its latency at 1k tokens",
        ),
        formula=(*_FORMULA, "the first two layers and the last two stay in 16 bits; every layer takes 0.1 ms more"),
        listed=listed,
    )


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
        "kv-int8",
        "KV in 8-bit integers",
        3,
        "int8",
        NO_SCORE,
        evidence=("8 bits an element and, in vLLM and SGLang, a 32-bit scale for every head's vector: 8.25 bits",),
    ),
    KvQuant(
        "kv-int4",
        "KV in 4-bit integers",
        6,
        "int4",
        Accuracy(1.0, 4.0, "reasoning (79.3 to 76.2) and 256k retrieval", "TurboQuant 4-bit on Qwen3-30B as a proxy"),
        evidence=("TurboQuant 4-bit: 75 % of BF16 throughput at equal bytes",),
        caution="no score of this very format was found: the loss is that of TurboQuant 4-bit",
    ),
    KvQuant(
        "kv-nvfp4",
        "KV in NVFP4",
        5,
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
        NO_SCORE,
        evidence=("8.5 bits an element (block of 32 with one scale)",),
        caution="quantized V needs flash attention",
    ),
    KvQuant(
        "kv-q4_0",
        "KV in llama.cpp q4_0",
        7,
        "q4_0",
        NO_SCORE,
        evidence=("4.5 bits an element (block of 32 with one scale)",),
        caution="quantized V needs flash attention",
    ),
    _turboquant("k8v4", 4, 6.125, (0.0, 2.8)),
    _turboquant("4bit", 8, 4.1875, (1.2, 3.5)),
    _turboquant("k3v4", 9, 3.6875, (2.6, 12.3), listed=False),
    _turboquant("3bit", 10, 3.1875, (4.0, 14.6), listed=False),
    KvQuant(
        "kv-kivi-2",
        "KV in 2-bit KIVI",
        11,
        "kivi-2",
        Accuracy(0.4, 1.1, "LongBench", "KIVI repository: 38.72 to 38.30 without grouped heads, 43.54 to 42.43 with"),
        evidence=(
            "3 bits an element (groups of 32 with scale and zero point), the newest 128 tokens in 16 bits",
            "KIVI repository: 2.6 x less peak memory, 2.35 to 3.47 x the throughput by larger batches",
        ),
        formula=(*_FORMULA, "and the newest 128 tokens of every sequence in 16 bits"),
        caution="KIVI is a prototype of its authors and a cache of HF transformers, not a flag of stock engines",
        stock=False,
    ),
)
