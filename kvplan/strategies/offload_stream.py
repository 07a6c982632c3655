"""KV that does not fit in HBM lives in host memory and crosses the link in every decode step."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import Ends, Input, PlainStrategy, Situation, ends
from kvplan.strategies.methods.copies import COPY_ENGINE, layer_blocks

_SERIAL = Interval(0.0, 0.3, 1.0)
_PIECE_TOKENS = 1024.0
"""Keys or values of one layer that are copied in one piece; those of whole sequences are hardly faster."""


class OffloadStream(PlainStrategy):
    """FlexGen's way: exact, and as fast as the link."""

    id = "offload-stream"
    title = "overflowing KV streamed every step"
    order = 2
    second_pool = True
    formula = (
        "HBM   = weights + overheads + the KV that fits + two layers' worth of the rest",
        "link  = bytes of the rest, every step, keys and values of a layer in pieces of 1024 tokens",
        "T     = max(GPU step, bytes of the rest / link rate) + the part that does not overlap",
    )
    inputs = (
        Input("part that does not overlap", _SERIAL, "of the shorter", "FlexGen: max or sum of the two"),
        Input("largest copies", COPY_ENGINE.link_rate_fraction, "of the large-copy rate", COPY_ENGINE.source),
        Input("fixed time of a copy", COPY_ENGINE.copy_s, "s", COPY_ENGINE.source),
    )
    evidence = (
        "FlexGen OPT-30B on T4: 7.32 tokens/s at a batch of 144",
        "Llama-3.1-8B at 120k is 15.7 GB a step: 0.6 s a token over PCIe 4",
    )
    stock = False

    def charges(self, situation: Situation) -> Ends:
        return ends(
            spills_kv=1.0,
            serial_fraction=_SERIAL,
            link_rate_fraction=COPY_ENGINE.link_rate_fraction,
            copy_s=COPY_ENGINE.copy_s,
            copy_tokens=layer_blocks(_PIECE_TOKENS, situation),
        )

    def notes(self, situation: Situation) -> tuple[str, ...]:
        return ("no stock serving engine streams active KV: FlexGen and DeepSpeed do",)


STRATEGIES = (OffloadStream(),)
