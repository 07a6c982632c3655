"""KV101: the weights, with what the engine needs beside them, do not fit on the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.weight_scheme import SCHEMES
from kvplan.rules.context import Context
from kvplan.rules.fitting import room_for_weights, weights_level
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import each_gpu, figures_of, gib_text

ID = "KV101"
TITLE = "weights do not fit in GPU memory"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None:
        return
    share, deployment = judged.share, judged.deployment
    level = weights_level(share)
    if level is None or _static_share_is_small(context):
        return
    scheme = SCHEMES[deployment.settings.weights or deployment.model.dtype].name
    pool = f" and {gib_text(share.pool.best)} of KV as asked for" if share.fixed_pool else ""
    taken = share.budget.best - share.free.best
    likely = "" if level == "fail" else " at the best estimate"
    if share.flexible:
        likely = ": the CPU takes the layers that do not fit"
    beside = f", {gib_text(share.overheads.best)} of activations, runtime and graphs" if share.overheads.best else ""
    message = (
        f"{gib_text(share.weights.best)} of {scheme} weights{beside}{pool} need {gib_text(taken)} of "
        f"{gib_text(share.budget.best)}{each_gpu(context)}{likely}"
    )
    yield finding(
        ID, level, context, ("model", "tp", "gpus"), message,
        figures={
            "weight_bytes": figures_of(share.weights),
            "overhead_bytes": figures_of(share.overheads),
            "budget_bytes": figures_of(share.budget),
            "free_bytes": figures_of(share.free),
            "tp": deployment.layout.tp,
            "pp": deployment.layout.pp,
        },
        formula="free = utilization x device memory - weights / (tp x pp) - activations - runtime - graphs",
        remedy=room_for_weights(context),
    )  # fmt: skip


def _static_share_is_small(context: Context) -> bool:
    """KV105 says that a stated share of SGLang does not hold the weights."""
    judged = context.judged
    if judged is None or judged.share is None or not context.number("mem_fraction_static"):
        return False
    return judged.deployment.engine.name == "sglang" and judged.share.weights.low > judged.share.budget.high
