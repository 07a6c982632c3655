"""Ways to copy KV over the link: what the largest copies reach, and the fixed time of each.

Fitted on the even half of vLLM's transfer curves (H100, PCIe 5: 45 points from 4 KiB to 16 MiB); the odd half comes
out with a median error of 3 %. The fixed time is the GPU's, whatever the link.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.domain.interval import Interval
from kvplan.engines.offload_blocks import pieces_per_token
from kvplan.strategies.interface import Situation
from kvplan.strategies.methods.heads import heads_on_gpu


class CopyWay(NamedTuple):
    """One of them."""

    link_rate_fraction: Interval
    """The largest copies, as a share of the link's large-copy rate."""
    copy_s: Interval
    """Fixed time of a copy."""
    source: str


COPY_ENGINE: Final = CopyWay(
    Interval(0.90, 0.948, 1.0),
    Interval(3.0e-6, 3.4e-6, 4.0e-6),
    "vLLM transfer curves on H100: 52.5 GB/s of 55.4, 3.4 us a copy",
)
GATHER_KERNEL: Final = CopyWay(
    Interval(0.80, 0.862, 0.92),
    Interval(0.02e-6, 0.20e-6, 0.25e-6),
    "the same for a kernel that gathers: 47.75 GB/s, 0.2 us a piece",
)
GATHERED_BLOCKS: Final = CopyWay(
    Interval(0.92, 0.948, 1.0),
    Interval(0.0, 0.005e-6, 0.01e-6),
    "kernels that fill the GPU with copying warps: RetroInfer's 120k row needs 14 GB/s or more at 2 KiB on PCIe 4",
)
"""Blocks of single heads that retrieval methods gather; vLLM's kernel leaves the GPU room for attention instead."""


def layer_blocks(tokens: float, situation: Situation) -> float:
    """Keys (or values) of all heads of one layer for so many tokens, as tokens of all the KV on a GPU."""
    deployment = situation.deployment
    return tokens / pieces_per_token(deployment.model, deployment.layout.pp)


def head_blocks(tokens: float, situation: Situation) -> float:
    """The same of one head."""
    return layer_blocks(tokens, situation) / heads_on_gpu(situation)
