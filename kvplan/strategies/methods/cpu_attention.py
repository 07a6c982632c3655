"""KV in host memory, CPU cores attend to it: ScoutAttention, llama.cpp, MagicPIG, NEO, KTransformers."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import EXACT, NO_SCORE, Accuracy, Ends, Input, Method, Situation, ends
from kvplan.strategies.methods.copies import GATHER_KERNEL, layer_blocks
from kvplan.strategies.methods.heads import queries_per_head, vector_elements

_CORE_RATE = Input(
    "rate of one core", Interval(2.2e9, 2.8e9, 3.4e9), "bytes/s", "ScoutAttention 36 cores: 100 GB/s"
)  # fmt: skip

DIGEST_FRACTION = 1 / 32
CHOSEN_TOKENS = 2048.0
_CPU_SHARE = Interval(0.07, 0.082, 0.10)
_RECALL_SHARE = Interval(0.01, 0.02, 0.03)
_BLOCK_32_TOKENS = 32.0
_SYNC_S = Interval(0.0, 0.00005, 0.0002)


def _scoutattention(situation: Situation) -> Ends:
    return ends(
        resident_fraction=DIGEST_FRACTION,
        resident_tokens=CHOSEN_TOKENS,
        read_fraction=DIGEST_FRACTION,
        read_tokens=CHOSEN_TOKENS,
        dram_fraction=1.0,
        cpu_tokens=_CPU_SHARE.scaled(CHOSEN_TOKENS),
        link_tokens=_RECALL_SHARE.scaled(CHOSEN_TOKENS),
        sync_s_per_layer=_SYNC_S,
        serial_fraction=Interval(0.0, 0.1, 0.3),
        link_rate_fraction=GATHER_KERNEL.link_rate_fraction,
        copy_s=GATHER_KERNEL.copy_s,
        copy_tokens=layer_blocks(_BLOCK_32_TOKENS, situation),
    )


SCOUTATTENTION = Method(
    "scoutattention",
    "ScoutAttention",
    setup="Qwen3-14B (speed) and Qwen3-8B (scores) to 64k on an 80 GB GPU; 36 cores; PCIe 4 x16; SGLang",
    charges=_scoutattention,
    formula=(
        "HBM   = weights + overheads + users x (KV bytes / 32 digests + 2048 chosen tokens)",
        "DRAM  = users x KV bytes",
        "CPU   = users x 8.2 % of the chosen tokens' KV, read one layer ahead of the GPU",
        "cores = those bytes a second / 2.8 GB/s a core",
        "T     = max(GPU step on the chosen tokens, CPU bytes / min(cores x 2.8 GB/s, 0.5 x DRAM rate))",
    ),
    inputs=(
        Input("share of the chosen tokens on the CPU", _CPU_SHARE, "", "ScoutAttention: 8.2 %, recalled above 12 %"),
        Input(
            "share recalled over the link",
            _RECALL_SHARE,
            "",
            "what brings 8.2 % back every few steps; block turnover below 15 % between tokens",
        ),
        Input("synchronization for each layer", _SYNC_S, "s", "KTransformers 0.12 ms"),
        _CORE_RATE,
    ),
    accuracy=Accuracy(2.1, 2.5, "LongBench", "ScoutAttention: 2.1 at 2048 tokens, 2.5 at 1024"),
    evidence=("Qwen3-14B: 5.1 x a batch-starved full cache, 2.1 x other offloads at 64k",),
    source="arXiv 2603.27138, by its abstract and two summaries",
    tested_tokens=65536,
)


def _llama_cpp(situation: Situation) -> Ends:
    """The CPU attends to the whole cache, layer by layer, while the GPU waits."""
    return ends(resident_fraction=0.0, read_fraction=0.0, cpu_fraction=1.0, dram_fraction=1.0, serial_fraction=1.0)


LLAMA_CPP = Method(
    "llama.cpp",
    "llama.cpp -nkvo",
    setup="InternLM2.5-7B-1M, one sequence of 8k to 128k tokens, on RTX 4090D 24 GB; 64 threads of a server CPU",
    charges=_llama_cpp,
    formula=(
        "HBM   = weights + overheads",
        "DRAM  = users x KV bytes",
        "CPU   = users x KV bytes, every step",
        "T     = GPU step + KV bytes / min(cores x 2.8 GB/s, 0.5 x DRAM rate)",
    ),
    inputs=(_CORE_RATE,),
    accuracy=EXACT,
    evidence=("KTransformers' runs of llama.cpp: 28.9 tokens/s at 16k, 4.9 at 128k",),
    source="llama.cpp; KTransformers long-context page",
    stock_engines=("llama.cpp", "ollama"),
    cautions=("exact: llama.cpp attends to the whole cache on the CPU",),
    reads_latents=True,
)

_TABLES = 150.0
"""L of (K 10, L 150)."""
_SAMPLED = 0.02
_TABLE_READS = 0.03
"""4.5 ms of look-ups for a sequence of 96k tokens, as KV read at 80 GB/s."""
GATHER_RATE = Interval(0.62, 0.70, 0.80)
"""80 to 88 GB/s at 32 cores of one socket and 32 of another, which add 0.4 of theirs, at 2.8 GB/s a core."""
_PIG_SYNC_S = Interval(0.0004, 0.0006, 0.0008)


def _magicpig(situation: Situation) -> Ends:
    """Two layers stay dense on the GPU; in the others every query head samples keys of its own."""
    deployment = situation.deployment
    dense = min(2.0 / deployment.model.layers, 1.0)
    index_bytes = 4.0 if deployment.workload.context_tokens > 65536 else 2.0
    tables = _TABLES * index_bytes / (4.0 * vector_elements(deployment.model))
    read = _SAMPLED * queries_per_head(deployment.model) + _TABLE_READS
    return ends(
        resident_fraction=dense,
        resident_tokens=68.0,
        read_fraction=dense,
        read_tokens=68.0,
        cpu_fraction=(1.0 - dense) * read,
        cpu_rate_fraction=GATHER_RATE,
        dram_fraction=1.0 - dense,
        dram_index_fraction=Interval(0.98, 1.0, 1.02).scaled(tables),
        sync_s_per_layer=_PIG_SYNC_S,
        serial_fraction=Interval(0.7, 1.0, 1.0),
    )


MAGICPIG = Method(
    "magicpig",
    "MagicPIG",
    setup="Llama-3.1-8B at 96k on L20 48 GB; 2 x Xeon 8563C, 64 threads (A100: Xeon 8480+); link not stated",
    charges=_magicpig,
    formula=(
        "HBM   = weights + overheads + users x (KV bytes of 2 layers + 68 tokens)",
        "DRAM  = users x (KV bytes of the other layers + 150 table entries of 2 bytes, 4 above 64k, for every key)",
        "CPU   = users x KV bytes x (2 % for every query head of a KV head + 3 % of look-ups)",
        "T     = GPU step + CPU bytes / rate of gathered reads + layers x t_sync",
    ),
    inputs=(
        Input("rate of gathered reads", GATHER_RATE, "of CPU attention's", "80 GB/s at 64 threads, fitted on 23 rows"),
        Input("synchronization for each layer", _PIG_SYNC_S, "s", "fitted on the same rows: 0.60 ms"),
        _CORE_RATE,
    ),
    accuracy=Accuracy(1.3, 3.0, "RULER at 16k to 96k", "MagicPIG (10, 150) on Llama-3.1-8B: 2.4, 2.6, 1.3, 3.0"),
    evidence=(
        "L20, Llama-3.1-8B at 96k: 18.95 tokens/s alone, 36.15 with 4, 53.5 with 16 sequences",
        "host memory of the tables: 14 GB at 96k, 4.7 GB at 64k",
    ),
    source="arXiv 2410.16179 and its repository",
    tested_tokens=98304,
)  # fmt: skip


def _neo(situation: Situation) -> Ends:
    """Whole requests that find no room on the GPU are attended to by the CPU, beside another half of the batch."""
    launch_s = 0.0008 / situation.deployment.model.layers
    return ends(
        spills_kv=1.0,
        spilled_kv_on_cpu=1.0,
        sync_s_per_layer=Interval(0.5 * launch_s, launch_s, 2.0 * launch_s),
        serial_fraction=Interval(0.0, 0.1, 0.5),
    )


NEO = Method(
    "neo",
    "NEO",
    setup="LLaMA-3-8B, 1000 + 50 to 400 tokens on A10G 24 GB; 4 to 32 cores of EPYC 7R32, to 128 GB; also T4, H100",
    charges=_neo,
    formula=(
        "HBM   = weights + overheads + the KV that fits",
        "DRAM  = the rest of the KV",
        "CPU   = the rest of the KV, every step",
        "T     = max(GPU step, the rest / min(cores x 2.8 GB/s, 0.5 x DRAM rate)) + what does not overlap + 0.8 ms",
    ),
    inputs=(
        Input("launch of a step", Interval(0.0004, 0.0008, 0.0016), "s", "NEO's predictor: 0.8 ms"),
        _CORE_RATE,
    ),
    accuracy=EXACT,
    evidence=("A10G: gains of 12, 13, 30 and 79 % with 4, 8, 16 and 32 cores; H100: 14 %",),
    source="NEO repository (MLSys 25, arXiv 2411.01142)",
    cautions=("exact: what the GPU holds it attends to, the rest is the CPU's",),
)  # fmt: skip

_LOCAL_TOKENS = 4096.0
_BLOCK_TOKENS = Interval(4096.0, 4096.0, 12288.0)
"""32 blocks of 128 tokens; 96 in one of its runs."""
_DIGESTS = Interval(1 / 256, 1 / 128, 1 / 32)
_KT_INDEX = Interval(0.0, 0.03, 0.06)
"""145.49 GB of host memory for 137.4 GB of KV at 1M tokens, nothing beside the KV at 4K; source: its page."""
_KT_SYNC_S = Interval(0.00008, 0.00012, 0.0002)


def _ktransformers(situation: Situation) -> Ends:
    return ends(
        resident_fraction=0.0,
        resident_tokens=_LOCAL_TOKENS,
        read_fraction=0.0,
        read_tokens=_LOCAL_TOKENS,
        cpu_fraction=_DIGESTS,
        cpu_tokens=_BLOCK_TOKENS,
        dram_fraction=1.0,
        dram_index_fraction=_KT_INDEX,
        sync_s_per_layer=_KT_SYNC_S,
        serial_fraction=Interval(0.7, 1.0, 1.0),
    )


KTRANSFORMERS = Method(
    "ktransformers",
    "KTransformers",
    setup="InternLM2.5-7B-1M, one sequence of 16k to 1M tokens, on RTX 4090D 24 GB; 64 threads, CPU model not stated",
    charges=_ktransformers,
    formula=(
        "HBM   = weights + overheads + users x 4096 recent tokens",
        "DRAM  = users x (KV bytes + up to 6 % of digests)",
        "CPU   = users x (32 chosen blocks of 128 tokens + a digest of every block)",
        "T     = GPU step on the recent tokens + CPU bytes / min(cores x 2.8 GB/s, 0.5 x DRAM rate) + layers x t_sync",
    ),
    inputs=(
        Input("chosen tokens", _BLOCK_TOKENS, "tokens", "KTransformers: 32 blocks of 128; 96 blocks in its 128k row"),
        Input("digests of blocks", _DIGESTS, "of KV bytes", "one vector for 128 tokens; 1M row"),
        Input("synchronization for each layer", _KT_SYNC_S, "s", "fitted on 9 rows: 0.12 ms"),
        _CORE_RATE,
    ),
    accuracy=NO_SCORE,
    evidence=("RTX 4090D, InternLM2.5-7B: 36.9 tokens/s at 16k, 35.7 at 112k, 16 at 1M",),
    source="KTransformers long-context page",
    cautions=("published for one sequence at a time",),
)  # fmt: skip

METHODS = (SCOUTATTENTION, LLAMA_CPP, MAGICPIG, NEO, KTRANSFORMERS)
