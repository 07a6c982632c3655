"""KV that does not fit in HBM lives in host memory and crosses the link in every decode step."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Ends, Input, PlainStrategy, Situation, ends

_SERIAL = Interval(0.0, 0.3, 1.0)
_LINK_RATE = Interval(0.80, 0.92, 1.0)


class OffloadStream(PlainStrategy):
    """FlexGen's way: exact, and as fast as the link."""

    id = "offload-stream"
    title = "overflowing KV streamed every step"
    order = 2
    second_pool = True
    formula = (
        "HBM   = weights + overheads + the KV that fits + two layers' worth of the rest",
        "link  = bytes of the rest, every step",
        "T     = max(GPU step, bytes of the rest / link rate) + the part that does not overlap",
    )
    inputs = (
        Input("part that does not overlap", _SERIAL, "of the shorter", "FlexGen: max or sum of the two"),
        Input("link rate", _LINK_RATE, "of large pinned copies", "vLLM transfer curves at 2 MiB and more"),
    )
    evidence = (
        "FlexGen OPT-30B on T4: 7.32 tokens/s at a batch of 144",
        "Llama-3.1-8B at 120k is 15.7 GB a step: 0.6 s a token over PCIe 4",
    )
    stock = False

    def charges(self, situation: Situation) -> Ends:
        return ends(spills_kv=1.0, serial_fraction=_SERIAL, link_rate_fraction=_LINK_RATE)

    def notes(self, situation: Situation) -> tuple[str, ...]:
        return ("no stock serving engine streams active KV: FlexGen and DeepSpeed do",)


STRATEGIES = (OffloadStream(),)
