"""KV301: a layout that cannot be started, more GPUs than there are, or GPUs that nobody uses.

Ranks are tp x pp x dp. Too few GPUs for them fail; GPUs without a rank are a warning, and a failure where the model
does not fit without them. Ranks that an external balancer or Ray places elsewhere are not held against one container.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.assess import build_frame
from kvplan.deployments.layout import heads_divide
from kvplan.domain.deployment import Deployment
from kvplan.engines import find_engine
from kvplan.errors import KvplanError
from kvplan.rules.context import Context, Judged
from kvplan.rules.fitting import request_level, weights_level
from kvplan.rules.gpu_share import share_of
from kvplan.rules.interface import Finding, finding, reported
from kvplan.rules.wording import spelled
from kvplan.strategies import find_strategy
from kvplan.units import gib

ID = "KV301"
TITLE = "the layout does not match the model or the GPUs"
LEVEL = "fail"
_BLAME = ("tp", "pp", "dp", "dcp", "gpus", "model")
_ELSEWHERE = ("data-parallel-rank", "data-parallel-start-rank", "data-parallel-external-lb",
              "data-parallel-hybrid-lb", "data-parallel-address", "distributed-executor-backend", "headless",
              "nnodes", "node-rank", "dist-init-addr")  # fmt: skip
"""Flags under which other containers hold some of the ranks. Source: vLLM's and SGLang's pages on several nodes."""
_RANKS = ("tp", "pp", "dp", "dp_local", "arguments", "config")
"""What may hold a count of ranks."""


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    judged = context.judged
    if judged is None:
        if not context.stated(ID):
            yield from _counted(context)
        return
    deployment = judged.deployment
    layout, gpus = deployment.layout, deployment.host.gpus
    figures = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "gpus": gpus}
    excuse = judged.frame.topology_excuse
    if excuse is not None:
        fewer = layout.gpus > gpus
        yield finding(
            ID, "unknown" if fewer and _spreads(context) else LEVEL, context, _BLAME,
            excuse.sentence + (_question(context) if fewer else ""), figures=figures,
            formula="tp x pp x dp <= GPUs; heads / tp is whole", remedy=_largest(context),
        )  # fmt: skip
    elif context.has("gpus") and layout.gpus < gpus and context.found.engine:
        level, why = ("fail", ", and the model does not fit without them") if _is_missing(context) else ("warn", "")
        message = f"{gpus} GPUs are asked for, and tp {layout.tp} x pp {layout.pp} x dp {layout.dp} uses {layout.gpus}"
        yield finding(
            ID, level, context, _BLAME, message + why, figures=figures,
            formula="tp x pp x dp = GPUs", remedy=_largest(context),
        )  # fmt: skip


def _counted(context: Context) -> Iterator[Finding]:
    """The count alone, where the model or the host is not known."""
    asked, nodes = int(context.number("gpus")), max(int(context.number("nodes")), 1)
    open_ranks = any(item.name in _RANKS for item in context.found.unresolved)
    if not asked or open_ranks or not context.found.engine or find_engine(context.found.engine).splits_layers:
        return
    local = context.has("dp_local")
    sizes = [max(int(context.number(name)), 1) for name in ("tp", "pp", "dp_local" if local else "dp")]
    ranks, there = sizes[0] * sizes[1] * sizes[2], asked * (1 if local else nodes)
    if ranks == there or (ranks > there and _spreads(context)):
        return
    words = f"tp {sizes[0]} x pp {sizes[1]} x dp {sizes[2]}"
    verb = "is" if there == 1 else "are"
    message = f"{words} needs {ranks} GPUs, and {there} {verb} there" if ranks > there else (
        f"{there} GPUs are asked for, and {words} uses {ranks}")  # fmt: skip
    yield finding(
        ID, "fail" if ranks > there else "warn", context, _BLAME, message,
        figures={"tp": sizes[0], "pp": sizes[1], "dp": sizes[2], "gpus": there},
        formula="tp x pp x dp = GPUs", remedy=f"ask for {ranks} GPU{'s' * (ranks > 1)}, or change the ranks",
    )  # fmt: skip


def _spreads(context: Context) -> bool:
    """Whether ranks may be in other containers, and how many of these there are is not said."""
    return not context.has("nodes", "dp_local") and any(flag in context.found.flags for flag in _ELSEWHERE)


def _question(context: Context) -> str:
    return ": over how many containers do the ranks spread?" if _spreads(context) else ""


def _is_missing(context: Context) -> bool:
    """Whether what fails on the GPUs in use fits on all that are asked for."""
    judged = context.judged
    if judged is None or judged.share is None:
        return False
    if weights_level(judged.share) != "fail" and request_level(context) != "fail":
        return False
    tp = _largest_tp(judged)
    return tp > judged.deployment.layout.tp and _fits(context, judged, tp)


def _fits(context: Context, judged: Judged, tp: int) -> bool:
    deployment: Deployment = judged.deployment._replace(layout=judged.deployment.layout._replace(tp=tp))
    try:
        frame = build_frame(deployment)
        offloaded = gib(context.number("cpu_offload_gb"))
        share = share_of(frame, find_strategy("hbm"), offloaded_bytes=offloaded, pool_bytes=None)
    except KvplanError:
        return False
    need = share.kv_bytes(judged.length_tokens).best if judged.length_tokens else 0.0
    return frame.topology_excuse is None and share.pool.best > need


def _largest(context: Context) -> str | None:
    """The largest tensor-parallel size that the GPUs and the heads allow."""
    if context.judged is None:
        return None
    largest = _largest_tp(context.judged)
    return spelled(context, "tp", largest) if largest and largest != context.judged.deployment.layout.tp else None


def _largest_tp(judged: Judged) -> int:
    deployment = judged.deployment
    room = deployment.host.gpus // (deployment.layout.pp * deployment.layout.dp)
    allowed = [tp for tp in range(1, min(room, 64) + 1) if heads_divide(deployment.model, tp)]
    return allowed[-1] if allowed else 0
