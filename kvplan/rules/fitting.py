"""How well something fits, as a level; and what larger layouts or smaller weights would make it fit."""

from __future__ import annotations

from kvplan.assess import build_frame
from kvplan.deployments.layout import heads_divide
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.domain.weight_scheme import NOT_QUANTIZED
from kvplan.errors import KvplanError
from kvplan.rules.context import Context
from kvplan.rules.gguf_models import is_llama_server
from kvplan.rules.gpu_share import GpuShare, share_of
from kvplan.rules.llama_wording import room_on_device
from kvplan.rules.wording import spelled
from kvplan.strategies import find_strategy
from kvplan.units import gib, to_gib


def level_of(need: Interval, limit: Interval) -> str | None:
    """``fail`` where even the optimistic end is over, ``warn`` where the best estimate is; None where it fits."""
    if need.low > limit.high:
        return "fail"
    return "warn" if need.best > limit.best else None


def weights_level(share: GpuShare) -> str | None:
    """Whether weights and overheads leave anything for KV."""
    level = level_of(Interval.exact(0.0), share.free) if share.fixed_pool else _room(share.free)
    return "warn" if level is not None and share.flexible else level


def request_level(context: Context) -> str | None:
    """Whether one request of the longest length fits."""
    judged = context.judged
    if judged is None or judged.share is None or judged.length_tokens is None or judged.share.spills:
        return None
    level = level_of(judged.share.request_bytes(judged.length_tokens), judged.share.pool)
    return "warn" if level is not None and judged.share.flexible else level


def users_level(context: Context) -> str | None:
    """Whether the stated users fit at the stated context."""
    judged = context.judged
    if judged is None or judged.share is None or judged.share.spills or not context.has("users", "context"):
        return None
    users = judged.deployment.workload.users
    return level_of(judged.share.kv_bytes(judged.load_tokens, users), judged.share.pool)


def room_for_weights(context: Context) -> str | None:
    """The least change that gives the weights room: more ranks, fewer bits, or some weights in host memory."""
    judged = context.judged
    if judged is None or context.host is None:
        return None
    if is_llama_server(context.found.engine):
        return room_on_device(context)
    deployment, installed = judged.deployment, context.host.gpus
    tp = deployment.layout.tp * 2
    while tp <= installed:
        layout = deployment.layout._replace(tp=tp, dp=1)
        if heads_divide(deployment.model, tp) and layout.gpus <= installed:
            host = deployment.host._replace(gpus=max(layout.gpus, deployment.host.gpus))
            if _works(context, deployment._replace(layout=layout, host=host)):
                return f"{spelled(context, 'tp', tp)}, on {layout.gpus} GPUs"
        tp *= 2
    if (deployment.settings.weights or deployment.model.dtype) in NOT_QUANTIZED:
        lighter = deployment._replace(settings=deployment.settings._replace(weights="fp8"))
        if _works(context, lighter):
            return spelled(context, "quantization", "fp8")
    return _in_host_memory(context)


def _in_host_memory(context: Context) -> str | None:
    """Weights in host memory, where it is fast enough to be worth saying: less than half of them."""
    judged = context.judged
    if judged is None or judged.share is None or judged.deployment.host.unified_memory:
        return None
    missing = int(to_gib(max(-judged.share.free.low, 0.0))) + 1 + int(context.number("cpu_offload_gb"))
    if gib(missing) * 2 < judged.share.weights.best:
        return f"{spelled(context, 'cpu_offload_gb', missing)}, at the link's pace"
    return "take a host with more GPU memory, or a smaller model"


def _works(context: Context, changed: Deployment) -> bool:
    try:
        frame = build_frame(changed)
        offloaded = gib(context.number("cpu_offload_gb"))
        share = share_of(frame, find_strategy("hbm"), offloaded_bytes=offloaded, pool_bytes=None)
    except KvplanError:
        return False
    if frame.topology_excuse is not None:
        return False
    length = context.judged.length_tokens if context.judged else None
    return share.pool.low > (share.kv_bytes(length).best if length else 0.0)


def _room(free: Interval) -> str | None:
    if free.high <= 0.0:
        return "fail"
    return "warn" if free.best <= 0.0 else None
