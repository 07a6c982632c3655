"""KV105: SGLang's static share is too small for the weights, or so large that nothing is left beside it.

``--mem-fraction-static`` bounds weights and KV together; activations, CUDA graphs and the runtime live in the rest.
Source: SGLang server_args.py, whose own default leaves 512 MB + 1.5 x chunk + 1 GB x tp x pp / 8 + graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context, Judged
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text
from kvplan.units import MIB, gib

ID = "KV105"
TITLE = "the static pool is too small or too large"
LEVEL = "fail"
LEAST_OUTSIDE = Interval(gib(1.0), gib(2.0), gib(5.0))
"""What runs of SGLang took beside weights and KV on one GPU without large graphs: class estimate."""


def check(context: Context) -> Iterator[Finding]:
    judged, fraction = context.judged, context.number("mem_fraction_static")
    if judged is None or judged.share is None or judged.deployment.engine.name != "sglang" or not fraction:
        return
    share, gpu = judged.share, judged.deployment.host.gpu
    if gpu is None:
        return
    static, weights = share.budget, share.weights
    if weights.low > static.high:
        needed = weights.high / gpu.hbm_bytes.best
        yield finding(
            ID, "fail", context, ("mem_fraction_static", "model"),
            f"{gib_text(weights.best)} of weights do not fit in the static share of {fraction:g}, {gib_span(static)}",
            figures={"weight_bytes": figures_of(weights), "static_bytes": figures_of(static)},
            formula="weights + KV = fraction x memory that is free before loading",
            remedy=f"--mem-fraction-static above {needed:.2f}" if needed < 0.95 else "more tensor-parallel ranks",
        )  # fmt: skip
        return
    yield from _outside(context, judged, fraction)


def _outside(context: Context, judged: Judged, fraction: float) -> Iterator[Finding]:
    gpu = judged.deployment.host.gpu
    assert gpu is not None
    left = gpu.hbm_bytes.map(lambda value: value * (1.0 - fraction))
    wanted = _own_reserve(judged)
    level = "fail" if left.high < LEAST_OUTSIDE.low else "warn" if left.best < min(wanted, LEAST_OUTSIDE.high) else None
    if level is None:
        return
    yield finding(
        ID, level, context, ("mem_fraction_static",),
        f"a static share of {fraction:g} leaves {gib_text(left.best)} for activations, CUDA graphs and the runtime; "
        f"SGLang's own default would leave {gib_text(wanted)}",
        figures={"left_bytes": figures_of(left), "default_reserve_bytes": round(wanted)},
        formula="(1 - fraction) x total >= activations + graphs + runtime",
        remedy=f"--mem-fraction-static {math.floor(100.0 * (1.0 - wanted / gpu.hbm_bytes.best)) / 100.0:g}",
    )  # fmt: skip


def _own_reserve(judged: Judged) -> float:
    """SGLang's reserve without its floor of 10 GiB on large cards."""
    layout, chunk = judged.deployment.layout, judged.frame.situation.policy.prefill_chunk_tokens
    return (512.0 + 1.5 * max(chunk, 2048) + layout.tp * layout.pp / 8.0 * 1024.0) * MIB
