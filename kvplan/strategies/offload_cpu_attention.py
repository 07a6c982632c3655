"""KV in host memory, and CPU cores attend to what stays there; only results cross the link.

What it costs is the business of its methods (``methods/cpu_attention.py``): ScoutAttention's constants unless asked
otherwise. Under llama.cpp it is that engine's own way (``-nkvo``): the CPU attends to everything, layer by layer,
while the GPU waits.
"""

from __future__ import annotations

from kvplan.core.accounts import Placement
from kvplan.strategies.by_method import ByMethod
from kvplan.strategies.interface import Situation
from kvplan.strategies.methods.cpu_attention import SCOUTATTENTION


class OffloadCpuAttention(ByMethod):
    """ScoutAttention, MagicPIG, NEO, KTransformers, llama.cpp ``-nkvo``."""

    id = "offload-cpu-attention"
    title = "KV in DRAM, CPU cores attend to it"
    order = 4
    default = SCOUTATTENTION

    def stock_flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return ("-nkvo",)


STRATEGIES = (OffloadCpuAttention(),)
