"""KV in host memory, an index picks what matters: RetroInfer, ShadowKV, InfiniGen, PQCache, RetrievalAttention."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import NO_SCORE, Accuracy, Ends, Input, Method, Situation, ends
from kvplan.strategies.methods.copies import GATHERED_BLOCKS, head_blocks
from kvplan.strategies.methods.cpu_attention import GATHER_RATE
from kvplan.strategies.methods.heads import heads_on_gpu, queries_per_head, vector_elements
from kvplan.strategies.methods.retroinfer import PREFILL, RETROINFER

_SYNC_S = Interval(0.0, 0.00005, 0.0002)
"""Class estimate where none was published: RetroInfer's."""

_LOW_RANK_BYTES = 320.0
"""Rank-160 factor of all keys of a token in one layer, 16 bits."""
_BUDGET = 0.0164
"""1024 of 60k tokens, 2048 of 122k, 4096 of 244k."""
_SHADOW_CHUNK_TOKENS = 8.0
_SHADOW_KEPT_TOKENS = 416.0
"""48 outlier chunks and 4 local ones, of 8 tokens."""
_SHADOW_HIT = Interval(0.55, 0.6, 0.65)
_SHADOW_SYNC_S = Interval(0.00025, 0.00032, 0.00045)


def _shadowkv(situation: Situation) -> Ends:
    """Keys stay as low-rank factors of all heads together, so that every tensor-parallel rank keeps a whole one."""
    landmarks = 1 / 16  # a mean key for 8 tokens
    factors = _LOW_RANK_BYTES / (heads_on_gpu(situation) * 4.0 * vector_elements(situation.deployment.model))
    return ends(
        resident_fraction=factors + landmarks + 1.03 * _BUDGET,
        resident_tokens=_SHADOW_KEPT_TOKENS,
        read_fraction=landmarks + 3.0 * _BUDGET,
        read_tokens=_SHADOW_KEPT_TOKENS,
        link_fraction=_SHADOW_HIT.map(lambda hit: _BUDGET / 2.0 * (1.0 - hit)),
        dram_fraction=0.5,
        sync_s_per_layer=_SHADOW_SYNC_S,
        link_rate_fraction=GATHERED_BLOCKS.link_rate_fraction,
        copy_s=GATHERED_BLOCKS.copy_s,
        copy_tokens=head_blocks(_SHADOW_CHUNK_TOKENS, situation),
        serial_fraction=Interval(0.7, 1.0, 1.0),
        prefill_factor=PREFILL,
    )


SHADOWKV = Method(
    "shadowkv",
    "ShadowKV",
    setup="Llama-3-8B-1M, Llama-3.1-8B, GLM-4-9B-1M, Yi-9B-200K on A100 80 GB; CPU idle; link and DRAM not stated",
    charges=_shadowkv,
    formula=(
        "HBM   = weights + overheads + users x (rank-160 keys + landmarks: 14.1 % with 8 heads of 128; + chosen)",
        "DRAM  = users x 0.5 x KV bytes: the values",
        "link  = users x 1.64 % of the values x (1 - hit fraction), every step",
        "T     = GPU step (landmarks + 3 x chosen bytes) + fetched values / link rate + layers x t_sync",
    ),
    inputs=(
        Input("hit fraction of the value cache", _SHADOW_HIT, "",
              "project page: the cache policy cuts fetching by 60 %; read as a hit fraction"),
        Input("synchronization for each layer", _SHADOW_SYNC_S, "s",
              "fitted on the Llama rows with 24 GB/s of PCIe: 0.32 ms; 0.55 with a faster link"),
    ),
    accuracy=NO_SCORE,
    evidence=(
        "A100, Llama-3-8B-1M at 122k x 24: 239.5 tokens/s; at 244k x 12: 119.0",
        "the authors' largest batches fill 78.5 to 80.0 GB in five checked cases",
        "fitted on Llama rows it gives GLM and Yi rows with 7.8 % mean error, 17 % at most",
    ),
    source="ShadowKV project page and repository (arXiv 2410.21465)",
    cautions=("what its decomposition adds to prefill was not found: RetroInfer's share is taken",),
)  # fmt: skip

_INFINIGEN_TOKENS = Interval(360.0, 400.0, 440.0)


def _infinigen(situation: Situation) -> Ends:
    """So many tokens of every sequence, however long it is, fetched one layer ahead; none of them is kept."""
    return ends(
        resident_fraction=0.1,  # a fifth of every key
        resident_tokens=128.0,
        read_fraction=0.1,
        read_tokens=_INFINIGEN_TOKENS.map(lambda fetched: 128.0 + 2.0 * fetched),
        link_tokens=_INFINIGEN_TOKENS,
        dram_fraction=1.0,
        sync_s_per_layer=_SYNC_S,
        link_rate_fraction=Interval(0.58, 0.65, 0.72),
        serial_fraction=Interval(0.0, 0.2, 0.4),
    )


INFINIGEN = Method(
    "infinigen",
    "InfiniGen",
    setup="OPT-13B, 20 x (1920 + 128 tokens) on RTX A6000 48 GB; Xeon Gold 6136, 96 GB DDR4-2666; PCIe 3 x16",
    charges=_infinigen,
    formula=(
        "HBM   = weights + overheads + users x KV bytes / 10 (a fifth of every key)",
        "DRAM  = users x KV bytes",
        "link  = users x 400 tokens' KV bytes, every step, fetched one layer ahead",
        "T     = max(GPU step, fetched bytes / link rate) + the part that does not overlap",
    ),
    inputs=(
        Input("chosen tokens", _INFINIGEN_TOKENS, "tokens",
              "400 of 2048 in its scripts; as many at 64k give the 61 % of idle time in ScoutAttention's test"),
    ),
    accuracy=Accuracy(36.6, 36.6, "AIME24 pass@8 of an 8B reasoning model (73.3 to 36.7)", "RetroInfer v3's own runs"),
    evidence=(
        "OPT-13B: up to 3.0 x the speed of earlier offloading",
        "GPU idle 61 % of the time at 64k (ScoutAttention); no room for its keys at 1M (RetroInfer)",
    ),
    source="InfiniGen repository (OSDI 24); ScoutAttention and RetroInfer for longer contexts",
    cautions=("its own rows end at 2k tokens",),
)  # fmt: skip

_PQ_FETCHED = Interval(0.052, 0.06, 0.07)


def _pqcache(situation: Situation) -> Ends:
    codes = 1.0 / vector_elements(situation.deployment.model)  # four codes of 8 bits for a key of 16-bit elements
    return ends(
        resident_fraction=_PQ_FETCHED.map(lambda fetched: codes + fetched / 2.0),
        resident_tokens=128.0,
        read_fraction=_PQ_FETCHED.map(lambda fetched: codes + 3.0 * fetched),
        read_tokens=128.0,
        link_fraction=_PQ_FETCHED,
        dram_fraction=1.0,
        sync_s_per_layer=_SYNC_S,
        link_rate_fraction=Interval(0.58, 0.65, 0.72),
        serial_fraction=Interval(0.5, 1.0, 1.0),
        lookup_cores_per_gpu=Interval(24.0, 48.0, 48.0),
        prefill_factor=PREFILL,
    )


PQCACHE = Method(
    "pqcache",
    "PQCache",
    setup="A800 and RTX 4090 hosts; 48 CPU cores build codes in prefill; model of the timings, DRAM and link not found",
    charges=_pqcache,
    formula=(
        "HBM   = weights + overheads + users x KV bytes x (4 codes a key + a cache of the chosen tokens)",
        "DRAM  = users x KV bytes",
        "link  = users x a fifth of KV bytes x (1 - hit fraction), every step",
        "cores = 48 for the k-means of prefill",
        "T     = GPU step + fetched bytes / link rate + layers x t_sync",
    ),
    inputs=(
        Input("fetched share of the KV", _PQ_FETCHED, "",
              "a fifth of the tokens, less what its cache hits: 12.2 x slower than RetroInfer at 1M is 5 to 8 %"),
        Input("CPU cores of the codes", Interval(24.0, 48.0, 48.0), "", "PQCache: 48 cores for k-means in prefill"),
    ),
    accuracy=Accuracy(43.3, 43.3, "AIME24 pass@8 of an 8B reasoning model (73.3 to 30.0)", "RetroInfer v3's own runs"),
    evidence=("Llama-3-8B-1M at 1M on A100: RetroInfer's 27 tokens/s are 12.2 x its rate",),
    source="PQCache repository (SIGMOD 25); RetroInfer v3 for 1M",
)  # fmt: skip

_SCANNED = Interval.exact(0.02)


def _retrieval_attention(situation: Situation) -> Ends:
    """Every query head searches a graph of its own, on the CPU, which also attends to what it finds."""
    queries = queries_per_head(situation.deployment.model)
    return ends(
        resident_fraction=0.0,
        resident_tokens=640.0,
        read_fraction=0.0,
        read_tokens=640.0,
        cpu_fraction=_SCANNED.scaled(queries),
        cpu_rate_fraction=GATHER_RATE,
        dram_fraction=1.0,
        dram_index_fraction=Interval(0.0, 0.1, 0.5),
        serial_fraction=Interval(0.9, 1.0, 1.0),
        prefill_factor=PREFILL,
    )


RETRIEVALATTENTION = Method(
    "retrievalattention",
    "RetrievalAttention",
    setup="an 8B model at 128k, one sequence, on RTX 4090 24 GB; CPU, DRAM and link not stated",
    charges=_retrieval_attention,
    formula=(
        "HBM   = weights + overheads + users x 640 tokens",
        "DRAM  = users x (KV bytes + graphs)",
        "CPU   = users x 1 to 3 % of KV bytes for every query head of a KV head, found by a search of graphs",
        "T     = GPU step + CPU bytes / rate of scattered reads",
    ),
    inputs=(
        Input("keys touched", _SCANNED, "of the KV", "RetrievalAttention: 1 to 3 %, the middle of it"),
        Input("rate of scattered reads", GATHER_RATE, "of CPU attention's", "MagicPIG's, whose keys lie as scattered"),
        Input("host memory with the graphs", Interval(1.0, 1.1, 1.5), "x KV bytes", "class estimate: no figure found"),
    ),
    accuracy=NO_SCORE,
    evidence=("8B at 128k on RTX 4090: 0.188 s a token in the first version, 0.107 s in the later one",),
    source="abstracts of arXiv 2409.10516 and its NeurIPS 25 version, by secondary sources",
    cautions=("published for one sequence at a time",),
)  # fmt: skip

METHODS = (RETROINFER, SHADOWKV, INFINIGEN, PQCACHE, RETRIEVALATTENTION)
