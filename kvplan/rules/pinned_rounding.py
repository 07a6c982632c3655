"""How much of the host pinned buffers really take: PyTorch rounds each up to a power of two, version by version.

Source: vLLM issues 53042 (200 GiB asked, 384 taken) and 56410, PRs 50094 and 58185; see ``engines.host_memory``.
"""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.engines.host_memory import (
    ONE_BUFFER_SINCE,
    PINNED_DENSE,
    PINNED_EXPERTS,
    REGION_SINCE,
    ROUNDED_UNTIL,
    UNKNOWN_ROUNDING,
    pinned_bytes,
)
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name, pinned_version, ranks_of


def kv_rounding(context: Context, told_bytes: float) -> Interval:
    """Host memory that an offload of this size takes, all ranks of a host together."""
    if engine_name(context) != "vllm" or str(context.translated.values.get("kv_offloading_backend")) == "lmcache":
        return Interval.exact(told_bytes)
    version = pinned_version(context)
    if version is not None and version >= REGION_SINCE:
        return Interval.exact(told_bytes)
    if version is None or version >= ROUNDED_UNTIL:
        return Interval(told_bytes, told_bytes, told_bytes * UNKNOWN_ROUNDING.high)
    return _by_buffers(context, told_bytes, version)


def _by_buffers(context: Context, told_bytes: float, version: tuple[int, ...]) -> Interval:
    """One buffer for each layer, or one for all of them: which, the model and the version say."""
    model, ranks = context.model, ranks_of(context)
    if model is None or not ranks.known:
        return UNKNOWN_ROUNDING.scaled(told_bytes)
    layers = sum(item.layers for item in model.kv if not item.index_bytes) // ranks.pp or 1
    each, one = (pinned_bytes(told_bytes, ranks.on_a_host, buffers) for buffers in (layers, 1))
    if len(model.kv) == 1:
        best = one if version >= ONE_BUFFER_SINCE else each
        return Interval(min(each, one), best, max(each, one))
    # Kinds of layers share buffers: as many as the largest kind has layers, or the smallest.
    kinds = [max(item.layers // ranks.pp, 1) for item in model.kv if not item.index_bytes] or [layers]
    shared = [pinned_bytes(told_bytes, ranks.on_a_host, count) for count in (max(kinds), min(kinds))]
    return Interval(min(each, *shared), each, max(each, 2.0 * told_bytes))


def weight_rounding(context: Context) -> Interval:
    """Host memory for every byte of weights kept there: experts' small tensors round up most."""
    if engine_name(context) != "vllm":
        return Interval.exact(1.0)
    if context.model is None:
        return Interval(PINNED_DENSE.low, PINNED_DENSE.best, PINNED_EXPERTS.high)
    return PINNED_DENSE if context.model.experts is None else PINNED_EXPERTS
