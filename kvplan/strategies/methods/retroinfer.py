"""RetroInfer: the default of its family, in a file of its own."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Accuracy, Ends, Input, Method, Situation, ends
from kvplan.strategies.methods.copies import GATHERED_BLOCKS, head_blocks

PREFILL = Interval(1.03, 1.06, 1.10)
"""3 % more at 1M tokens, 6 % at 120k; taken for its kin too, where none was published."""

INDEX_FRACTION = 1 / 16
"""Centroids and value sums: one for 16 tokens."""
CACHE_FRACTION = 0.054
"""Block cache in HBM: three times what is retrieved."""
RETRIEVED_FRACTION = 0.018
"""150 of 8192 clusters at 128k."""
LOOKUP_CORES = 12.0
"""24 threads of a hyper-threaded EPYC for one GPU with the 8 KV heads of an 8B model."""
_MEASURED_KV_HEADS = 8
_INDEX_IN_DRAM = Interval(0.10, 0.11, 0.12)
"""70 GB of host memory for 63 GB of KV; source: its README."""

_HIT = Interval(0.81, 0.90, 0.92)
_RETRO_SYNC_S = Interval(0.00012, 0.0002, 0.00024)
_BLOCK_TOKENS = 8.0
"""Blocks of 2 KiB: eight key or value vectors of one head."""
_STEADY_TOKENS = Interval(68.0, 580.0, 1092.0)


def _retroinfer(situation: Situation) -> Ends:
    """An execution buffer of four times one layer's retrieved bytes is shared by all layers."""
    buffer = 4.0 * RETRIEVED_FRACTION / situation.deployment.model.layers
    share = look_up_share(situation)
    return ends(
        resident_fraction=INDEX_FRACTION + CACHE_FRACTION + buffer,
        resident_tokens=_STEADY_TOKENS,
        read_fraction=INDEX_FRACTION + 3.0 * RETRIEVED_FRACTION,
        read_tokens=_STEADY_TOKENS,
        link_fraction=_HIT.map(lambda hit: RETRIEVED_FRACTION * (1.0 - hit)),
        dram_fraction=1.0,
        dram_index_fraction=_INDEX_IN_DRAM,
        sync_s_per_layer=_RETRO_SYNC_S,
        link_rate_fraction=GATHERED_BLOCKS.link_rate_fraction,
        copy_s=GATHERED_BLOCKS.copy_s,
        copy_tokens=head_blocks(_BLOCK_TOKENS, situation),
        serial_fraction=Interval(0.9, 1.0, 1.0),
        prefill_factor=PREFILL,
        lookup_cores_per_gpu=Interval(share, share, min(1.0, 2.0 * share)).scaled(LOOKUP_CORES),
    )


def look_up_share(situation: Situation) -> float:
    """Look-up work of one GPU relative to the measured one: its KV heads over those of the whole model, 8 at most.

    Never more than was measured for a whole model on one GPU.
    """
    layout = situation.deployment.layout
    heads = max((layers.kv_heads for layers in situation.deployment.model.kv), default=1)
    return min(1.0, min(1.0, max(1.0, heads / layout.tp) / min(heads, _MEASURED_KV_HEADS)) / layout.pp)


RETROINFER = Method(
    "retroinfer",
    "RetroInfer",
    setup="Llama-3-8B-1048K on A100 80 GB; EPYC 7V12, 24 threads of one NUMA node for a GPU, 1.7 to 1.9 TB; PCIe 4 x16",
    charges=_retroinfer,
    formula=(
        "HBM   = weights + overheads + users x (KV bytes x (1/16 index + 5.4 % cache) + steady tokens)",
        "DRAM  = users x 1.11 x KV bytes",
        "link  = users x 1.8 % of KV bytes x (1 - hit fraction), every step",
        "cores = 12 for a GPU with all (8) KV heads (24 threads), in proportion with tensor parallelism",
        "T     = GPU step (index + 3 x retrieved bytes) + fetched bytes / link rate + layers x t_sync",
    ),
    inputs=(
        Input("hit fraction of the HBM cache", _HIT, "",
              "RetroInfer: 0.79 to 0.94 by task; 0.90 and more in its 120k row"),
        Input("synchronization for each layer", _RETRO_SYNC_S, "s",
              "RetroInfer: 0.72 ms for a layer at 128k, no faster than full attention at one or two sequences"),
        Input("largest copies of gathered blocks", GATHERED_BLOCKS.link_rate_fraction, "of the large-copy rate",
              GATHERED_BLOCKS.source),
        Input("time of a 2 KiB block", GATHERED_BLOCKS.copy_s, "s", GATHERED_BLOCKS.source),
        Input("steady zone", _STEADY_TOKENS, "tokens", "RetroInfer: 4 sinks + 64 recent, up to 1024 more"),
    ),
    accuracy=Accuracy(0.66, 1.97, "RULER at 128k", "RetroInfer v3, four models (0.66, 0.73, 1.50, 1.97)"),
    tested_from_tokens=30 * 1024,
    tested_tokens=128 * 1024,
    evidence=(
        "A100, Llama-3-8B-1M at 120k x 32: 386 tokens/s measured, 338 (197 to 450) predicted",
        "the authors' largest batches, 120k x 32 and 1M x 4, fill an 80 GB card",
        "at one or two sequences it is slower than full attention in HBM",
    ),
    source="arXiv 2505.02922 v3 (PVLDB) and its repository",
    cautions=("long reasoning loses first",),
)  # fmt: skip
