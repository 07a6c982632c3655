"""Judge one resolved deployment for what its settings amount to."""

from __future__ import annotations

from dataclasses import replace

from kvplan.assess import assess_frame
from kvplan.assess.frame import Frame
from kvplan.assess.judge import find_excuse
from kvplan.assess.methods import check_method
from kvplan.assess.verdict import best_first, closest
from kvplan.deployments.as_words import Translated
from kvplan.domain.assessment import StrategyAssessment
from kvplan.rules.context import Judged
from kvplan.rules.gpu_share import GpuShare, share_of
from kvplan.rules.llama_placement import Placement
from kvplan.strategies import find_strategy
from kvplan.units import gib


def judged_deployment(
    frame: Frame, translated: Translated, length: int | None, length_by: str, placement: Placement | None = None
) -> Judged:
    """The assessment of what the file configures. UnknownName for a strategy or method that there is not."""
    deployment = frame.deployment
    strategies = strategies_of(translated) if placement is None else placement.strategies
    check_method(deployment.method, strategies)
    assessment = assess_frame(frame, strategies)
    configured = (best_first(assessment.strategies) or [assessment.strategies[0]])[0]
    if not configured.works:
        configured = closest(assessment.strategies) or configured
    offloaded = gib(translated.number("cpu_offload_gb") or 0.0) if placement is None else placement.offloaded_bytes
    share = _share(frame, configured, offloaded, translated.number("kv_cache_memory_bytes"))
    if share is not None and placement is not None:
        share = replace(share, flexible=placement.flexible, sequences=placement.slots.reserved,
                        kv_fraction=placement.kv_fraction)  # fmt: skip
    return Judged(
        frame=frame,
        assessment=assessment,
        configured=configured,
        share=share,
        length_tokens=length,
        length_by=length_by,
    )


def strategies_of(translated: Translated) -> tuple[str, ...]:
    """What a file's settings amount to: weights in host memory, reuse of idle prefixes, or everything on the GPU."""
    if translated.words.strategies:
        return translated.words.strategies
    if (translated.number("cpu_offload_gb") or 0.0) > 0.0:
        return ("weight-offload",)
    sizes = ("kv_offloading_size", "offload_bytes", "offload_bytes_per_rank", "lmcache_gib_per_rank")
    if any((translated.number(name) or 0.0) > 0.0 for name in sizes):
        return ("offload-reuse",)
    return ("hbm",)


def _share(
    frame: Frame, configured: StrategyAssessment, offloaded_bytes: float, pool_bytes: float | None
) -> GpuShare | None:
    """How a GPU is used. Where a strategy is excused for its host memory, its GPU side is still that of ``hbm``."""
    if frame.topology_excuse is not None:
        return None
    strategy = find_strategy(configured.id)
    if find_excuse(frame, strategy) is not None:
        if strategy.kv_suffix is not None:
            return None
        strategy = find_strategy("hbm")
    return share_of(frame, strategy, offloaded_bytes=offloaded_bytes, pool_bytes=pool_bytes)
