"""KV in host memory; an index in HBM picks what matters for each step, and only that crosses the link.

The constants are RetroInfer's (arXiv 2505.02922 v3, PVLDB): cluster index, 1.8 % retrieved, 5.4 % cached in HBM.
"""

from __future__ import annotations

from kvplan.core.shapes import Charges
from kvplan.domain.interval import Interval
from kvplan.strategies.interface import (
    RESIDENT,
    Accuracy,
    Ends,
    Excuse,
    Input,
    PlainStrategy,
    Situation,
    no_way_with_latents,
)

INDEX_FRACTION = 1 / 16
"""Centroids and value sums: one for 16 tokens."""
CACHE_FRACTION = 0.054
"""Block cache in HBM: three times what is retrieved."""
RETRIEVED_FRACTION = 0.018
"""150 of 8192 clusters at 128k."""
DRAM_FRACTION = 1.11
LOOKUP_CORES = 12.0
"""24 threads of a hyper-threaded EPYC for one GPU with the 8 KV heads of an 8B model."""
_MEASURED_KV_HEADS = 8

_HIT = Interval(0.79, 0.87, 0.94)
_SYNC_S = Interval(0.0, 0.00005, 0.0002)
_LINK_RATE = Interval(0.92, 1.0, 1.0)
_STEADY_TOKENS = Interval(68.0, 580.0, 1092.0)
_SERIAL = Interval(0.7, 1.0, 1.0)
_PREFILL = Interval(1.03, 1.06, 1.10)


class OffloadRetrieve(PlainStrategy):
    """RetroInfer, ShadowKV, InfiniGen, PQCache and their kin."""

    id = "offload-retrieve"
    title = "KV in DRAM, an index fetches what matters"
    order = 3
    second_pool = True
    accuracy = Accuracy(0.66, 1.97, "RULER at 128k", "RetroInfer v3, four models (0.66, 0.73, 1.50, 1.97)")
    formula = (
        "HBM   = weights + overheads + users x (KV bytes x (1/16 index + 5.4 % cache) + steady tokens)",
        "DRAM  = users x 1.11 x KV bytes",
        "link  = users x 1.8 % of KV bytes x (1 - hit fraction), every step",
        "cores = 12 for a GPU with all (8) KV heads (24 threads), in proportion with tensor parallelism",
        "T     = GPU step (index + 3 x retrieved bytes) + fetched bytes / link rate + layers x t_sync",
    )
    inputs = (
        Input("hit fraction of the HBM cache", _HIT, "", "RetroInfer: 0.79 to 0.94 by task"),
        Input(
            "synchronization for each layer", _SYNC_S, "s", "RetroInfer: copy kernel 0.1 ms a layer; LRU update hidden"
        ),
        Input(
            "link rate of gathered blocks",
            _LINK_RATE,
            "of large copies",
            "RetroInfer 120k row needs 14 GB/s or more on PCIe 4",
        ),
        Input("steady zone", _STEADY_TOKENS, "tokens", "RetroInfer: 4 sinks + 64 recent, up to 1024 more"),
    )
    evidence = (
        "A100, Llama-3-8B-1M at 120k x 32: 386 tokens/s measured, 333 (198 to 568) predicted",
        "the authors' largest batches, 120k x 32 and 1M x 4, fill an 80 GB card",
        "at one or two sequences it is slower than full attention in HBM",
    )
    stock = False

    def excuse(self, situation: Situation) -> Excuse | None:
        return no_way_with_latents(situation)

    def charges(self, situation: Situation) -> Ends:
        layers = situation.deployment.model.layers
        share = look_up_share(situation)
        low = _charges(layers, _HIT.high, _SYNC_S.low, _LINK_RATE.high, _STEADY_TOKENS.low)
        best = _charges(layers, _HIT.best, _SYNC_S.best, _LINK_RATE.best, _STEADY_TOKENS.best)
        high = _charges(layers, _HIT.low, _SYNC_S.high, _LINK_RATE.low, _STEADY_TOKENS.high)
        return (
            _with_cores(low, share)._replace(serial_fraction=_SERIAL.low, prefill_factor=_PREFILL.low),
            _with_cores(best, share)._replace(serial_fraction=_SERIAL.best, prefill_factor=_PREFILL.best),
            _with_cores(high, 2.0 * share)._replace(serial_fraction=_SERIAL.high, prefill_factor=_PREFILL.high),
        )

    def notes(self, situation: Situation) -> tuple[str, ...]:
        return ("a prototype of its authors (RetroInfer), not a flag of stock engines; long reasoning loses first",)


def look_up_share(situation: Situation) -> float:
    """Look-up work of one GPU relative to the measured one: its KV heads over those of the whole model, 8 at most."""
    layout = situation.deployment.layout
    heads = max((layers.kv_heads for layers in situation.deployment.model.kv), default=1)
    return min(1.0, max(1.0, heads / layout.tp) / min(heads, _MEASURED_KV_HEADS)) / layout.pp


def _with_cores(charges: Charges, share: float) -> Charges:
    """Never more than were measured for a whole model on one GPU."""
    return charges._replace(lookup_cores_per_gpu=LOOKUP_CORES * min(1.0, share))


def _charges(layers: int, hit: float, sync_s: float, link_rate: float, steady_tokens: float) -> Charges:
    """One row. An execution buffer of four times one layer's retrieved bytes is shared by all layers."""
    buffer = 4.0 * RETRIEVED_FRACTION / layers
    return RESIDENT._replace(
        resident_fraction=INDEX_FRACTION + CACHE_FRACTION + buffer,
        resident_tokens=steady_tokens,
        read_fraction=INDEX_FRACTION + 3.0 * RETRIEVED_FRACTION,
        read_tokens=steady_tokens,
        link_fraction=RETRIEVED_FRACTION * (1.0 - hit),
        dram_fraction=DRAM_FRACTION,
        sync_s_per_layer=sync_s,
        link_rate_fraction=link_rate,
    )


STRATEGIES = (OffloadRetrieve(),)
