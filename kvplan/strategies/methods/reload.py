"""Idle KV in host memory: vLLM's OffloadingConnector, LMCache, SGLang's HiCache. They differ in what one copy holds."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.engines.offload_blocks import LMCACHE_CHUNK_TOKENS, CopyLayout, reload_layout
from kvplan.strategies.interface import EXACT, Ends, Input, Method, Situation, ends
from kvplan.strategies.methods.copies import COPY_ENGINE, GATHER_KERNEL

UNKNOWN_SIZE = Interval(0.45, 0.80, 0.95)
"""Of large copies, where an engine's layout is not known: from 128 KiB to 4 MiB a copy."""


def reload_charges(situation: Situation, method: str | None) -> Ends:
    """The rate of the engine's own copies; of an unknown layout a share of the large-copy rate."""
    layout = reload_layout(situation.deployment, situation.policy.block_tokens, method)
    if layout is None:
        return ends(reuse=1.0, link_rate_fraction=UNKNOWN_SIZE)
    way = GATHER_KERNEL if layout.by_kernel else COPY_ENGINE
    return ends(reuse=1.0, link_rate_fraction=way.link_rate_fraction, copy_s=way.copy_s, copy_tokens=layout.tokens)


def layout_of(situation: Situation, method: str | None) -> CopyLayout | None:
    """What one copy holds here."""
    return reload_layout(situation.deployment, situation.policy.block_tokens, method)


FORMULA = (
    "HBM   = as hbm: every decoding sequence keeps all its KV in GPU memory",
    "DRAM  = (idle sessions x context + shared prefix) x KV bytes",
    "rate  = largest copies x s / (s + largest copies x time of a copy), s = bytes of one copy in the engine's layout",
    "TTFT  = hit tokens x KV bytes / rate + prefill of the rest",
    "link  = requests/s x (hit tokens reloaded + new tokens written)",
)

CONNECTOR = Method(
    "offloading-connector",
    "vLLM OffloadingConnector",
    setup="Llama-3.1-8B, 10k to 100k tokens, on H100 80 GB; Sapphire Rapids, 8 cores, 500 GB; PCIe 5 x16",
    charges=lambda situation: reload_charges(situation, "offloading-connector"),
    formula=FORMULA,
    inputs=(
        Input("largest copies", COPY_ENGINE.link_rate_fraction, "of the large-copy rate", COPY_ENGINE.source),
        Input("fixed time of a copy", COPY_ENGINE.copy_s, "s", COPY_ENGINE.source),
    ),
    accuracy=EXACT,
    evidence=(
        "vLLM 0.12 on H100: TTFT 43 to 312 ms reloaded against 265 to 6854 ms computed (10k to 100k tokens)",
        "at a hit fraction of 50 % prefill throughput grows 1.7 x, at 0 % it loses 3 %: it pays above 3 % of hits",
        "0.12 made one block of all layers: 32 KB to 2 MB for Llama-3.1-8B, 4 x the TTFT gain",
    ),
    source="vLLM blog 2026-01-08",
    stock_engines=("vllm",),
    reads_latents=True,
)

LMCACHE = Method(
    "lmcache",
    "LMCache",
    setup="8 x H100, 10k to 20k tokens, 500 GB of host memory",
    charges=lambda situation: reload_charges(situation, "lmcache"),
    formula=FORMULA,
    inputs=(
        Input("tokens of a chunk", Interval.exact(LMCACHE_CHUNK_TOKENS), "tokens", "LMCache's chunk_size"),
        Input("largest copies", COPY_ENGINE.link_rate_fraction, "of the large-copy rate", COPY_ENGINE.source),
        Input("fixed time of a copy", COPY_ENGINE.copy_s, "s", COPY_ENGINE.source),
    ),
    accuracy=EXACT,
    evidence=("H100: loads at 400 Gbit/s where vLLM 0.11's own connector has 88",),
    source="LMCache technical report (arXiv 2510.09665)",
    stock_engines=("vllm",),
    reads_latents=True,
)

HICACHE = Method(
    "hicache",
    "SGLang HiCache",
    setup="not stated with its rates",
    charges=lambda situation: reload_charges(situation, "hicache"),
    formula=FORMULA,
    inputs=(
        Input("largest copies of its kernel", GATHER_KERNEL.link_rate_fraction, "of the large-copy rate",
              GATHER_KERNEL.source),
        Input("time of a piece", GATHER_KERNEL.copy_s, "s", GATHER_KERNEL.source),
    ),
    accuracy=EXACT,
    evidence=("the GPU's kernel up to 3 x plain copies, the page-first layout up to 2 x, TTFT down by up to 80 %",),
    source="LMSYS blog 2025-09-10",
    stock_engines=("sglang",),
    reads_latents=True,
)  # fmt: skip

METHODS = (CONNECTOR, LMCACHE, HICACHE)
