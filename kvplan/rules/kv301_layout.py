"""KV301: a layout that cannot be started, more GPUs than there are, or GPUs that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.layout import heads_divide
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported
from kvplan.rules.wording import spelled

ID = "KV301"
TITLE = "the layout does not match the model or the GPUs"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    judged = context.judged
    if judged is None:
        return
    deployment = judged.deployment
    layout, gpus = deployment.layout, deployment.host.gpus
    figures = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "gpus": gpus}
    blame = ("tp", "pp", "dp", "dcp", "gpus", "model")
    if judged.frame.topology_excuse is not None:
        yield finding(
            ID, LEVEL, context, blame, judged.frame.topology_excuse.sentence, figures=figures,
            formula="tp x pp x dp <= GPUs; heads / tp is whole", remedy=_largest(context),
        )  # fmt: skip
    elif context.has("gpus") and layout.gpus < gpus and context.found.engine:
        message = f"{gpus} GPUs are asked for, and tp {layout.tp} x pp {layout.pp} x dp {layout.dp} uses {layout.gpus}"
        yield finding(
            ID, "warn", context, blame, message, figures=figures,
            formula="tp x pp x dp = GPUs", remedy=_largest(context),
        )  # fmt: skip


def _largest(context: Context) -> str | None:
    """The largest tensor-parallel size that the GPUs and the heads allow."""
    if context.judged is None:
        return None
    deployment = context.judged.deployment
    room = deployment.host.gpus // (deployment.layout.pp * deployment.layout.dp)
    allowed = [tp for tp in range(1, min(room, 64) + 1) if heads_divide(deployment.model, tp)]
    return spelled(context, "tp", allowed[-1]) if allowed and allowed[-1] != deployment.layout.tp else None
