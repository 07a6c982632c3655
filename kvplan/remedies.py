"""What would make it fit: each remedy is a change of the deployment that was judged again and works.

More GPUs, fewer bytes for weights, some weights in host memory, fewer users, a smaller context, another host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvplan.assess import assess
from kvplan.assess.verdict import best_first
from kvplan.catalog.hardware import list_hosts
from kvplan.deployments.layout import natural_layout
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.domain.workload import Workload
from kvplan.engines import choose_engine
from kvplan.errors import KvplanError

_SERVED_SCHEMES = ("fp8", "awq-int4")
_GGUF_SCHEMES = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m")
_CONTEXT_STEP = 1024


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change that makes the workload fit (or, marked ``works=False``, its honest price)."""

    change: str
    strategy: str
    users_max: int
    itl_s: Interval | None
    works: bool = True


def find_remedies(assessment: Assessment, catalog: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> list[Remedy]:
    """The remedies for a verdict that is not a yes, in the order in which a person would try them."""
    found: list[Remedy] = []
    deployment = assessment.deployment
    for remedy in (
        *_more_gpus(deployment, only),
        *_lighter_weights(deployment, only),
        *_offloaded_weights(assessment),
        *_less_work(assessment),
        *_other_host(deployment, catalog, only),
    ):
        found.append(remedy)
    return found


def judge_again(deployment: Deployment, change: str, only: tuple[str, ...]) -> Remedy | None:
    """The remedy, if the changed deployment works."""
    try:
        again = assess(deployment, only)
    except KvplanError:
        return None
    best = best_first(again.strategies)[0]
    return _remedy(best, change) if best.works else None


def _remedy(best: StrategyAssessment, change: str) -> Remedy:
    users = int(best.users_max.best) if best.users_max else 0
    return Remedy(change, best.id, users, best.itl_s, best.works)


def _more_gpus(deployment: Deployment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """More GPUs of this host, or several of the same GPU, up to eight."""
    gpus = deployment.layout.gpus
    installed = deployment.gpus_installed
    while gpus < 8 and not deployment.host.unified_memory:
        gpus *= 2
        beyond = gpus > installed
        host = _with_gpus(deployment.host, gpus, beyond)
        layout = natural_layout(deployment.model, gpus)
        if layout.tp <= deployment.layout.tp:
            continue
        change = f"{gpus} x {deployment.host.gpu.name if deployment.host.gpu else 'GPU'}" if beyond else f"--gpus {gpus}"
        remedy = judge_again(replace(deployment, host=host, layout=layout), change, only)
        if remedy is not None:
            yield remedy
            return


def _with_gpus(host: Host, gpus: int, beyond: bool) -> Host:
    """The host with more of its GPUs; a host that never had so many is taken to keep its DRAM and cores."""
    return replace(host, gpus=gpus)


def _lighter_weights(deployment: Deployment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """The least reduction of weight precision that works."""
    now = SCHEMES[deployment.settings.weights or deployment.model.dtype]
    names = _GGUF_SCHEMES if deployment.engine.name == "llama.cpp" else _SERVED_SCHEMES
    for name in names:
        if SCHEMES[name].linear_bits >= now.linear_bits:
            continue
        settings = replace(deployment.settings, weights=name)
        remedy = judge_again(replace(deployment, settings=settings), f"--weights {name}", only)
        if remedy is not None:
            yield remedy
            return


def _offloaded_weights(assessment: Assessment) -> Iterator[Remedy]:
    """Weight offload with its honest rate, where it holds the bytes but misses the time."""
    for item in assessment.strategies:
        hbm, dram = item.budgets.get("hbm"), item.budgets.get("dram_capacity")
        if item.id != "weight-offload" or item.works or hbm is None or dram is None or hbm.load > 1.0 or dram.load > 1.0:
            continue
        if item.itl_s is not None and item.bound_by in ("link", "itl", "dram_bandwidth", "cpu_cores"):
            rate = 1.0 / item.itl_s.best
            yield Remedy(f"weight-offload at {rate:.2g} tokens/s a user", item.id, 0, item.itl_s, works=False)


def _less_work(assessment: Assessment) -> Iterator[Remedy]:
    """Fewer users, or a smaller context, with the strategy that keeps most of them."""
    deployment = assessment.deployment
    judged = [item for item in assessment.strategies if item.users_max is not None and item.context_tokens_max is not None]
    fewer = max(judged, key=lambda item: (int(item.users_max[1]), -_loss(item)), default=None)  # type: ignore[index]
    if fewer is not None and fewer.users_max is not None and 1 <= fewer.users_max.best < deployment.workload.users:
        users = int(fewer.users_max.best)
        remedy = judge_again(_with_workload(deployment, users=users), f"--users {users}", (fewer.id,))
        if remedy is not None:
            yield remedy
    shorter = max(judged, key=lambda item: (int(item.context_tokens_max[1]), -_loss(item)), default=None)  # type: ignore[index]
    if shorter is None or shorter.context_tokens_max is None:
        return
    context = int(shorter.context_tokens_max.best) // _CONTEXT_STEP * _CONTEXT_STEP
    if _CONTEXT_STEP <= context < deployment.workload.context_tokens:
        changed = _with_workload(deployment, context_tokens=context)
        remedy = judge_again(changed, f"--context {context // _CONTEXT_STEP}k", (shorter.id,))
        if remedy is not None:
            yield remedy


def _loss(item: StrategyAssessment) -> float:
    return 50.0 if item.accuracy.high is None else item.accuracy.high


def _with_workload(deployment: Deployment, *, users: int | None = None, context_tokens: int | None = None) -> Deployment:
    workload = deployment.workload
    context = context_tokens or workload.context_tokens
    prompt = max(1, min(workload.prompt_tokens, context - (workload.output_tokens or 0)))
    changed: Workload = replace(workload, users=users or workload.users, context_tokens=context, prompt_tokens=prompt)
    return replace(deployment, workload=changed)


def _other_host(deployment: Deployment, catalog: tuple[str, ...], only: tuple[str, ...]) -> Iterator[Remedy]:
    """The smallest other host of the catalog that works, by GPU memory in all."""
    for host in sorted((listing.host for listing in list_hosts(catalog)), key=_pool_bytes):
        if host.name == deployment.host.name or host.gpu is None:
            continue
        other = replace(
            deployment,
            host=host,
            gpus_installed=host.gpus,
            layout=natural_layout(deployment.model, host.gpus),
            engine=choose_engine(None, host),
            settings=replace(deployment.settings, kv_cache_dtype=None),
        )
        if _pool_bytes(host) < 0.5 * _pool_bytes(deployment.host):
            continue
        remedy = judge_again(other, f"--host {host.name}", only)
        if remedy is not None:
            yield remedy
            return


def _pool_bytes(host: Host) -> float:
    return host.gpu.hbm_bytes.best * host.gpus if host.gpu else 0.0
