"""The terms of vLLM's memory by version: what its start-up log prints, in GiB of one GPU.

Constants come from start-up logs that print every term (153 rows; the identity closes within 0.03 GiB).
"""

from __future__ import annotations

from kvplan.core.activations import ForwardShape, activation_bytes
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.engines.free_memory import display_reserve, gib_words, less
from kvplan.engines.interface import PoolLever, Term, given, replica_users
from kvplan.units import GIB, gib

_NVLINK_GIB = {
    (0, 0): Interval(1.0, 1.5, 2.1),
    (0, 14): Interval(0.45, 0.55, 1.9),
    (0, 18): Interval(1.95, 2.1, 2.25),
    (0, 21): Interval(0.95, 2.1, 2.3),
}
"""Since which version -> span. Sources: A100 and H100 before 0.14; H100 tp 2, 0.55; H100, 2.06 to 2.21; GB200, 0.95."""
_ALONE_GIB = {
    (0, 0): Interval(0.0, 0.06, 0.28),
    (0, 14): Interval(0.05, 0.11, 0.28),
    (0, 18): Interval(0.07, 0.25, 0.46),
}
"""Since which version -> span. Sources: 0.01 to 0.09 on T4, V100, 4090, L40; H100, 0.13; H100, 0.24 to 0.46."""
_CHARGED_CONTEXT_GIB = 1.8
"""Builds before 0.6.6 charge the CUDA context too: 1.79 GiB on one card, vllm#10511."""
_FEW_SEQUENCES = 64
NEW_BUDGET_SINCE = (0, 20)
"""Utilization 0.92 by default, and CUDA graphs inside the budget. Source: config/cache.py and envs.py (
VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS) of the released packages 0.19.1 and 0.20.0."""
_WORTH_SAYING_BYTES = gib(0.1)
_LOGS = "vLLM start-up logs, 0.6 to 0.33 (llm-d-planner DEBUG runs on H100, issues and public repositories)"


def default_batch(gpu: Gpu, version: tuple[int, ...]) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) of ``vllm serve``: larger on cards of 70 GiB and more, A100 excepted."""
    large = gpu.hbm_bytes.best >= 70 * GIB and "a100" not in gpu.name.lower()
    return (8192, 1024) if large and version >= (0, 8) else (2048, 256)


def gpu_of(deployment: Deployment) -> Gpu:
    assert deployment.host.gpu is not None  # assess refuses vLLM on a host without a GPU
    return deployment.host.gpu


def _utilization(deployment: Deployment, version: tuple[int, ...]) -> float:
    return given(deployment.settings, "gpu_memory_utilization", 0.92 if version >= NEW_BUDGET_SINCE else 0.90)


def budget(deployment: Deployment, version: tuple[int, ...]) -> Term:
    """Utilization x total; what is free where that is less, for vLLM does not start then."""
    host, utilization = deployment.host, _utilization(deployment, version)
    total, source = gpu_of(deployment).hbm_bytes, "vLLM gpu_worker.py; default utilization 0.92 since 0.20, 0.90 before"
    if host.unified_memory:
        total = total.map(lambda value: value * (host.gpu_share_fraction or 1.0) - host.os_reserve_bytes)
        formula = f"{utilization:g} x what the platform shows of the one pool"
        return Term(total.scaled(utilization), formula, source)
    free, reserve = free_at_start(deployment), display_reserve(host)
    usable = Interval(*(min(one, other) for one, other in zip(total.scaled(utilization), free, strict=True)))
    formula = f"{utilization:g} x device memory"
    if usable != total.scaled(utilization):
        formula += f", at most what is free: less a CUDA context and {reserve.formula}"
    return Term(usable, formula, source)


def free_at_start(deployment: Deployment) -> Interval:
    """Device memory that is free when vLLM first looks: less its CUDA context, NCCL's over NVLink, and a display.

    H100: 78.68 of 79.19 GiB alone, 77.2 to 77.7 with tensor parallelism; RTX 4090: a context of 384 MiB.
    """
    gpu, tp = gpu_of(deployment), deployment.layout.tp
    context = Interval(1.4, 1.75, 2.05) if tp > 1 and gpu.peer_bytes_per_s is not None else Interval(0.3, 0.45, 0.55)
    return less(gpu.hbm_bytes, context.scaled(GIB).plus(display_reserve(deployment.host).bytes))


def startable(deployment: Deployment) -> float:
    """The largest utilization, in hundredths, with which vLLM starts at the best estimate."""
    return int(100.0 * free_at_start(deployment).best / gpu_of(deployment).hbm_bytes.best) / 100


def no_start(deployment: Deployment, version: tuple[int, ...]) -> tuple[str, ...]:
    """vLLM ends at once where less than utilization x total is free."""
    total, utilization = gpu_of(deployment).hbm_bytes.best, _utilization(deployment, version)
    free = free_at_start(deployment).best
    if deployment.host.unified_memory or utilization * total <= free:
        return ()
    words = f"utilization {utilization:g} asks for {gib_words(utilization * total)}, and {gib_words(free)} are free"
    return (f"vLLM does not start: {words}; --gpu-memory-utilization {startable(deployment):g} does",)


def activation(deployment: Deployment, version: tuple[int, ...], tokens: float, sequences: float) -> Term:
    model, tp = deployment.model, deployment.layout.tp
    logit_bytes, copies = (14.6, 5.0) if version >= (0, 17) else (38.1, 4.0)
    experts = model.experts
    workspace = experts is not None and version >= (0, 17) and model.dtype != "mxfp4"
    shape = ForwardShape(
        tokens,
        sequences,
        float(model.vocab_size),
        float(model.hidden_size),
        model.intermediate_size / tp,
        logit_bytes,
        copies,
        float(experts.experts_per_token) if experts and workspace else 0.0,
        experts.intermediate_size / tp if experts and workspace else 0.0,
    )
    best = activation_bytes(shape)
    low, slack = best - gib(0.1), gib(0.15)
    if version >= (0, 21):  # other runners hold fewer logits: an 8B model on 0.33 showed 1.3 GiB less than this form
        low, slack = 0.25 * best, gib(0.3)
    elif version < (0, 17):
        low, slack = (0.35 if (0, 8) <= version < (0, 12) else 0.85) * best, gib(0.4)  # FlashInfer did not sort in some
    formula = f"max({logit_bytes} B x {sequences:g} sequences x vocabulary, layer of {tokens:g} tokens) + MoE workspace"
    return Term(Interval(max(min(low, best), 0.0), best, best + slack), formula, _LOGS)


def pool_levers(
    deployment: Deployment, version: tuple[int, ...], tokens: float, sequences: int
) -> tuple[PoolLever, ...]:
    """Fewer sequences in a step leave more for KV: the sampler's logits grow with them. Half as many and so on, as
    long as the users that were asked for run at once."""
    enough = max(_FEW_SEQUENCES, 1 << max(replica_users(deployment) - 1, 0).bit_length())
    if enough >= sequences:
        return ()
    now, then = (activation(deployment, version, tokens, count).bytes.best for count in (sequences, enough))
    worth_saying = now - then >= _WORTH_SAYING_BYTES
    return (PoolLever(f"--max-num-seqs {enough}", now - then),) if worth_saying else ()


def runtime(deployment: Deployment, version: tuple[int, ...]) -> Term:
    host, layout = deployment.host, deployment.layout
    if host.unified_memory:
        span, where = Interval(1.0, 3.0, 6.0), "unified memory"
    elif layout.tp == 1:
        span, where = _since(_ALONE_GIB, version), "one GPU"
        span = span._replace(high=_CHARGED_CONTEXT_GIB) if version < (0, 6, 6) else span
    elif gpu_of(deployment).peer_bytes_per_s is not None:
        span, where = _since(_NVLINK_GIB, version), "NVLink"
    else:
        span, where = Interval(0.1, 0.22, 0.5), "GPUs over PCIe"
    slack = Interval(0.0, 0.03, 0.06)  # rope tables and allocator rounding
    return Term(span.plus(slack).scaled(GIB), f"non-torch memory, {where}, and rope tables", _LOGS)


def _since(spans: dict[tuple[int, int], Interval], version: tuple[int, ...]) -> Interval:
    return spans[max(first for first in spans if first <= version)]


def graphs(deployment: Deployment, version: tuple[int, ...]) -> Term:
    source = "0.29 + 0.017 x layers + 0.29 if MoE, GiB: estimates printed by vLLM 0.20 to 0.29 (p90 error 0.33)"
    if deployment.settings.enforce_eager:
        return Term(Interval.exact(0.0), "no graphs with --enforce-eager", source)
    if version < NEW_BUDGET_SINCE:
        return Term(Interval.exact(0.0), "graphs live outside the budget before 0.20", source)
    best = 0.29 + 0.017 * deployment.model.layers + (0.29 if deployment.model.experts else 0.0)
    low = 0.0 if version >= (0, 28) else max(best - 0.33, 0.0)
    return Term(Interval(low, best, best + 0.33).scaled(GIB), "CUDA-graph estimate", source)


def warnings(deployment: Deployment) -> tuple[str, ...]:
    found = []
    if gpu_of(deployment).vendor.lower() != "nvidia":
        found.append("not calibrated: vLLM's memory terms on this vendor rest on NVIDIA logs")
    if deployment.host.unified_memory:
        found.append("not calibrated: on unified memory other processes are counted, and logs scatter by gigabytes")
    if deployment.model.weights.towers or deployment.model.tower_elements_unknown:
        found.append("not calibrated: a vision tower's encoder cache and activations are not modelled")
    return tuple(found)


def queueing(deployment: Deployment, max_sequences: int) -> tuple[str, ...]:
    """vLLM decodes at most max_num_seqs sequences at once, whatever room the pool has."""
    on_replica = replica_users(deployment)
    if on_replica <= max_sequences:
        return ()
    return (f"max_num_seqs is {max_sequences}: of {on_replica} users on a replica the rest wait, see --max-num-seqs",)
