"""KV in host memory, and CPU cores attend to what stays there; only results cross the link.

The constants are ScoutAttention's: digests of 32-token blocks in HBM, 2048 tokens chosen, of which the CPU computes
the part that is not in HBM one layer ahead. Under llama.cpp it is that engine's own way (``-nkvo``): the CPU
attends to everything, layer by layer, while the GPU waits.
"""

from __future__ import annotations

from kvplan.core.accounts import Placement
from kvplan.domain.interval import Interval
from kvplan.strategies.interface import (
    EXACT,
    RESIDENT,
    Accuracy,
    Ends,
    Excuse,
    Input,
    PlainStrategy,
    Situation,
    no_way_with_latents,
)

DIGEST_FRACTION = 1 / 32
CHOSEN_TOKENS = 2048.0
TESTED_TOKENS = 65536
"""The longest context with published scores; 2048 chosen tokens are ever less of a longer one."""

_CPU_SHARE = Interval(0.06, 0.082, 0.12)
_RECALL_SHARE = Interval(0.01, 0.03, 0.06)
_SYNC_S = Interval(0.0, 0.00005, 0.0002)
_SERIAL = Interval(0.0, 0.1, 0.5)
_LINK_RATE = Interval(0.5, 0.65, 0.9)


class OffloadCpuAttention(PlainStrategy):
    """ScoutAttention, MagicPIG, NEO, KTransformers, llama.cpp ``-nkvo``."""

    id = "offload-cpu-attention"
    title = "KV in DRAM, CPU cores attend to it"
    order = 4
    second_pool = True
    accuracy = Accuracy(2.1, 2.5, "LongBench", "ScoutAttention: 2.1 at 2048 tokens, 2.5 at 1024")
    formula = (
        "HBM   = weights + overheads + users x (KV bytes / 32 digests + 2048 chosen tokens)",
        "DRAM  = users x KV bytes",
        "CPU   = users x 8.2 % of the chosen tokens' KV, read one layer ahead of the GPU",
        "cores = those bytes a second / 2.8 GB/s a core",
        "T     = max(GPU step on the chosen tokens, CPU bytes / min(cores x 2.8 GB/s, 0.5 x DRAM rate))",
        "llama.cpp -nkvo: the CPU reads all KV in every step, and the GPU waits for it",
    )
    inputs = (
        Input("share of the chosen tokens on the CPU", _CPU_SHARE, "", "ScoutAttention: 8.2 %, recalled above 12 %"),
        Input("share recalled over the link", _RECALL_SHARE, "", "block turnover below 15 % between tokens"),
        Input("synchronization for each layer", _SYNC_S, "s", "KTransformers 0.12 ms"),
        Input("rate of one core", Interval(2.2e9, 2.8e9, 3.4e9), "bytes/s", "ScoutAttention 36 cores: 100 GB/s"),
    )
    evidence = (
        "Qwen3-14B: 5.1 x a batch-starved full cache, 2.1 x other offloads at 64k",
        "KTransformers llama.cpp KV in DRAM: 28.9 tokens/s at 16k, 4.9 at 128k",
        "NEO on A10G: gains of 12, 13, 30 and 79 % with 4, 8, 16 and 32 cores",
    )
    stock = False

    def excuse(self, situation: Situation) -> Excuse | None:
        return None if _reads_all(situation) else no_way_with_latents(situation)

    def loss(self, situation: Situation) -> Accuracy:
        if _reads_all(situation):
            return EXACT
        if situation.deployment.workload.context_tokens > TESTED_TOKENS:
            return Accuracy(None, None, "published up to 64k tokens only", self.accuracy.source)
        return self.accuracy

    def charges(self, situation: Situation) -> Ends:
        if _reads_all(situation):
            whole = RESIDENT._replace(
                resident_fraction=0.0, read_fraction=0.0, cpu_fraction=1.0, dram_fraction=1.0, serial_fraction=1.0
            )
            return whole, whole, whole
        chosen = RESIDENT._replace(
            resident_fraction=DIGEST_FRACTION,
            resident_tokens=CHOSEN_TOKENS,
            read_fraction=DIGEST_FRACTION,
            read_tokens=CHOSEN_TOKENS,
            dram_fraction=1.0,
        )
        low, best, high = (
            chosen._replace(
                cpu_tokens=share * CHOSEN_TOKENS,
                link_tokens=recall * CHOSEN_TOKENS,
                sync_s_per_layer=sync_s,
                serial_fraction=serial,
                link_rate_fraction=rate,
            )
            for share, recall, sync_s, serial, rate in zip(
                _CPU_SHARE, _RECALL_SHARE, _SYNC_S, _SERIAL, reversed(_LINK_RATE), strict=True
            )
        )
        return low, best, high

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return ("-nkvo",) if _reads_all(situation) else None

    def notes(self, situation: Situation) -> tuple[str, ...]:
        if _reads_all(situation):
            return ("exact: llama.cpp attends to the whole cache on the CPU",)
        return ("a prototype of its authors (ScoutAttention), not a flag of stock engines",)


def _reads_all(situation: Situation) -> bool:
    """llama.cpp's own way: the CPU attends to the whole cache."""
    return situation.deployment.engine.name == "llama.cpp"


STRATEGIES = (OffloadCpuAttention(),)
