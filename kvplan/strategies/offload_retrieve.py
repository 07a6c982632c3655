"""KV in host memory; an index in HBM picks what matters for each step, and only that crosses the link.

What it costs is the business of its methods (``methods/retrieval.py``): RetroInfer's constants unless asked otherwise.
"""

from __future__ import annotations

from kvplan.strategies.by_method import ByMethod
from kvplan.strategies.methods.retroinfer import RETROINFER


class OffloadRetrieve(ByMethod):
    """RetroInfer, ShadowKV, InfiniGen, PQCache, RetrievalAttention and their kin."""

    id = "offload-retrieve"
    title = "KV in DRAM, an index fetches what matters"
    order = 3
    default = RETROINFER


STRATEGIES = (OffloadRetrieve(),)
