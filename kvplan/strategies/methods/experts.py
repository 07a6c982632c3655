"""Routed experts in host memory: llama.cpp ``-ncmoe``, KTransformers (also in SGLang), vLLM's zero-copy reads."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import EXACT, Ends, Input, Method, Situation, ends

_EXPERT_RATE = Interval(0.55, 0.70, 0.90)
_SYNC_S = Interval(0.00002, 0.00005, 0.00015)
_ZERO_COPY = Interval(0.65, 0.85, 1.0)

_CPU_FORMULA = (
    "HBM   = KV + overheads + weights without the experts of as many layers as needed, one at least",
    "DRAM  = experts of those layers",
    "CPU   = experts of those layers that the step's tokens choose: 1 - (1 - k / E)^tokens of them",
    "T     = GPU step on the rest + those bytes / (expert rate x min(8 GB/s a core, 0.85 x DRAM)) + layers x t_sync",
    "TTFT  : every prefill pass copies the experts that it chooses, nearly all, over the link",
)
_CPU_INPUTS = (
    Input(
        "rate of single experts", _EXPERT_RATE, "of weights read in order",
        "DeepSeek-V3 on one socket 0.65, Qwen3-30B with 4 channels of DDR4 0.7, gpt-oss-120b with 2 of DDR5 0.8",
    ),
    Input("synchronization for each layer", _SYNC_S, "s", "class estimate: two crossings of the link and a wake-up"),
)  # fmt: skip


def _by_cpu(situation: Situation) -> Ends:
    """CPU cores multiply the chosen experts where they are, and the GPU waits."""
    return ends(
        spills_experts=1.0,
        spilled_weights_on_cpu=1.0,
        cpu_rate_fraction=_EXPERT_RATE,
        sync_s_per_layer=_SYNC_S,
        serial_fraction=1.0,
    )


def _deferred(situation: Situation) -> Ends:
    """The same; some experts may be deferred to the next layer, which hides a part."""
    low, best, high = _by_cpu(situation)
    return low._replace(serial_fraction=0.5), best, high


def _by_link(situation: Situation) -> Ends:
    """The GPU's kernels read the chosen experts over the link."""
    return ends(spills_experts=1.0, serial_fraction=Interval(0.3, 1.0, 1.0), link_rate_fraction=_ZERO_COPY)


LLAMA_CPP = Method(
    "llama.cpp",
    "llama.cpp -ncmoe",
    setup="gpt-oss-120b on RTX 3090, 2-channel DDR5-6800; Qwen3-30B-A3B Q4_K_M on RTX 2080, 4-channel DDR4-3200",
    charges=_by_cpu,
    formula=_CPU_FORMULA,
    inputs=_CPU_INPUTS,
    accuracy=EXACT,
    evidence=(
        "gpt-oss-120b, all experts on a 14900K: 25.6 tokens/s at 13k",
        "Qwen3-30B-A3B Q4_K_M, experts of 36 of 48 layers on an i9-10900X: 36.7 tokens/s",
    ),
    source="llama.cpp #15077 and #15157; users' rows",
    stock_engines=("llama.cpp", "ollama"),
    reads_latents=True,
)  # fmt: skip

KTRANSFORMERS = Method(
    "ktransformers",
    "KTransformers",
    setup="DeepSeek-V3 Q4_K_M, 500 tokens, on RTX 4090D 24 GB; 1 or 2 Xeon Gold 6454S (32 cores, 8 x DDR5-4800)",
    charges=_deferred,
    formula=_CPU_FORMULA,
    inputs=_CPU_INPUTS,
    accuracy=EXACT,
    evidence=("DeepSeek-V3 Q4_K_M: 8.73 tokens/s on one socket, 12.2 on two; llama.cpp of that time 4.5 on two",),
    source="KTransformers DeepSeek tutorial",
    stock_engines=("sglang",),
    cautions=("SGLang needs the kt-kernel package for it",),
    reads_latents=True,
)

VLLM = Method(
    "vllm",
    "vLLM --cpu-offload-params",
    setup="no published rows were found: its link rate is that of vLLM's zero-copy reads of weights",
    charges=_by_link,
    formula=(
        *_CPU_FORMULA[:2],
        "link  = experts of those layers that the step's tokens choose: 1 - (1 - k / E)^tokens of them, every step",
        "T     = GPU step on the rest + those bytes / link rate + the part that does not overlap",
        _CPU_FORMULA[-1],
    ),
    inputs=(Input("link rate of zero-copy reads", _ZERO_COPY, "of large copies", "H100 kernel copies: 35 of 55 GB/s"),),
    accuracy=EXACT,
    evidence=("H100 kernel copies: 35 of 55 GB/s",),
    source="vLLM #34535: --cpu-offload-params names the weights that --cpu-offload-gb moves",
    stock_engines=("vllm",),
    reads_latents=True,
)

METHODS = (LLAMA_CPP, KTRANSFORMERS, VLLM)
