"""What would make it fit: each remedy is a change of the deployment that was judged again.

More GPUs, fewer bytes for weights, some weights in host memory, fewer users, a smaller context, another host. Where
the verdict is a yes with a loss of accuracy, the same search looks for an exact way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.assess import assess
from kvplan.assess.quick import best_that_works
from kvplan.assess.verdict import closest, places_all, typical_loss, weights_fit
from kvplan.catalog.hardware import load_host, pool_sizes
from kvplan.domain.assessment import Assessment, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.remedy import Remedy
from kvplan.errors import KvplanError
from kvplan.remedies.changes import engine_layout, engine_there, lighter_schemes, with_weights, with_workload
from kvplan.units import ms, to_gib, to_ms

_PACE_FIRST = {"q4_k_m"}
"""What people take where the pace is what is missing."""
_CONTEXT_STEP = 1024
_MOST_GPUS = 8
_NEARLY = 0.8
"""What keeps so much of the best answer is as good, if it is simpler."""


def find_remedies(assessment: Assessment, catalog: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> list[Remedy]:
    """The remedies for this verdict, in the order in which a person would try them."""
    deployment = assessment.deployment
    outcome = assessment.verdict.outcome
    if outcome in ("fits", "tight"):
        return _exact_ways(assessment)
    if outcome not in ("unlikely", "no"):
        return []
    return [
        *_spread_latents(deployment, only),
        *_more_gpus(deployment, only),
        *_lighter_weights(deployment, only),
        *_offloaded_weights(assessment, only),
        *_less_work(assessment, only),
        *_slower_pace(assessment),
        *_other_host(deployment, catalog, only),
    ]


def _exact_ways(assessment: Assessment) -> list[Remedy]:
    """Where the answer costs accuracy: what would give the same without."""
    chosen = assessment.strategy(str(assessment.verdict.strategy))
    if chosen.accuracy.high == 0.0:
        return []
    exact = tuple(item.id for item in assessment.strategies if item.accuracy.high == 0.0)
    return [*_more_gpus(assessment.deployment, exact), *_less_work(assessment, exact)] if exact else []


def judge_again(deployment: Deployment, change: str, only: tuple[str, ...]) -> Remedy | None:
    """The remedy, if the changed deployment works."""
    try:
        best = best_that_works(deployment, only)
    except KvplanError:
        return None
    return None if best is None else _remedy(best, change)


def _remedy(best: StrategyAssessment, change: str, *, works: bool = True) -> Remedy:
    users = int(best.users_max.best) if best.users_max else 0
    return Remedy(change, best.id, users, best.itl_s, works)


def _spread_latents(deployment: Deployment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """MLA keeps its latent whole on every tensor-parallel rank; decode context parallelism spreads tokens instead."""
    layout = deployment.layout
    ranks = layout.dcp * 2
    while ranks <= layout.tp and any(layers.latent for layers in deployment.model.kv):
        changed = deployment._replace(layout=layout._replace(dcp=ranks))
        remedy = judge_again(changed, f"--dcp {ranks}", only)
        if remedy is not None:
            yield remedy
            return
        ranks *= 2


def _more_gpus(deployment: Deployment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """More GPUs of this host, or several of the same GPU, up to eight. The host's DRAM and cores stay as they are."""
    host = deployment.host
    gpus = deployment.layout.gpus
    while gpus * 2 <= max(_MOST_GPUS, deployment.gpus_installed) and not host.unified_memory:
        gpus *= 2
        layout = engine_layout(deployment.model, gpus, deployment.engine)
        if layout.tp * layout.pp <= deployment.layout.tp * deployment.layout.pp:
            continue
        beyond = gpus > deployment.gpus_installed
        change = f"{gpus} x {host.gpu.name if host.gpu else 'GPU'}" if beyond else f"--gpus {gpus}"
        changed = deployment._replace(host=host._replace(gpus=gpus), layout=layout)
        remedy = judge_again(changed, change, only)
        if remedy is not None:
            yield remedy
            return


def _lighter_weights(deployment: Deployment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """The least reduction of weight precision that works; else the lightest, with the context it has room for."""
    schemes = lighter_schemes(deployment)
    for name in schemes:
        remedy = judge_again(with_weights(deployment, name), f"--weights {name}", only)
        if remedy is not None:
            yield remedy
            return
    for name in sorted(schemes, key=_PACE_FIRST.__contains__, reverse=True):
        changed = with_weights(deployment, name)
        resident = assess(changed, ("hbm",)).strategies[0]
        if resident.bound_by == "itl" and (not only or "hbm" in only):
            yield from _at_its_pace(changed, resident, f"--weights {name} ")
            return
    context = deployment.workload.context_tokens // 2
    while schemes and context >= 4 * _CONTEXT_STEP and deployment.workload.lengths is None:
        change = f"--weights {schemes[-1]} --context {context // _CONTEXT_STEP}k"
        changed = with_workload(with_weights(deployment, schemes[-1]), context_tokens=context)
        remedy = judge_again(changed, change, only)
        if remedy is not None:
            yield remedy
            return
        context //= 2


def _offloaded_weights(assessment: Assessment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """Weight offload with its honest rate: as the weights are, or at the lightest type, which is the fastest."""
    if weights_fit(assessment) or assessment.deployment.host.unified_memory or (only and "weight-offload" not in only):
        return
    deployment = assessment.deployment
    for scheme in (None, *reversed(lighter_schemes(deployment))):
        changed = deployment if scheme is None else with_weights(deployment, scheme)
        item = assess(changed, ("weight-offload",)).strategies[0]
        if item.works or item.itl_s is None or not places_all(item):
            continue
        words = "weight-offload" if scheme is None else f"--weights {scheme} with weight-offload"
        yield _remedy(item, f"{words}: {1.0 / item.itl_s.best:.2g} tokens/s a user", works=False)
        return


def _less_work(assessment: Assessment, only: tuple[str, ...]) -> Iterator[Remedy]:
    """Fewer users, or a smaller context; features of stock engines first."""
    workload = assessment.deployment.workload
    judged = [item for item in assessment.strategies if item.users_max and (not only or item.id in only)]
    judged = [item for item in judged if item.flags is not None] or judged
    if not judged:
        return
    keeper = _simplest([(_whole(item.users_max), item) for item in judged])
    users = _whole(keeper.users_max)
    if 1 <= users < workload.users:
        changed = with_workload(assessment.deployment, users=users)
        yield from _if_any(judge_again(changed, f"--users {users}", (keeper.id,)))
    if workload.lengths is not None:
        return  # a smaller longest request says nothing about the load
    keeper = _simplest([(_whole(item.context_tokens_max), item) for item in judged])
    context = _whole(keeper.context_tokens_max) // _CONTEXT_STEP * _CONTEXT_STEP
    if _CONTEXT_STEP <= context < workload.context_tokens:
        changed = with_workload(assessment.deployment, context_tokens=context)
        yield from _if_any(judge_again(changed, f"--context {context // _CONTEXT_STEP}k", (keeper.id,)))


def _simplest(valued: list[tuple[int, StrategyAssessment]]) -> StrategyAssessment:
    """Of those that keep nearly the most, the one that loses least, and the plainest: they come in that order."""
    most = max(value for value, _ in valued)
    near = [item for value, item in valued if value >= _NEARLY * most]
    return min(near, key=_loss)


def _if_any(remedy: Remedy | None) -> Iterator[Remedy]:
    if remedy is not None:
        yield remedy


def _slower_pace(assessment: Assessment) -> Iterator[Remedy]:
    """The pace that the closest strategy does keep, where time is all that it misses."""
    near = closest(assessment.strategies)
    if near is not None and near.bound_by == "itl":
        yield from _at_its_pace(assessment.deployment, near, "")


def _at_its_pace(deployment: Deployment, item: StrategyAssessment, change: str) -> Iterator[Remedy]:
    if item.itl_s is None:
        return
    objective_ms = math.ceil(to_ms(item.itl_s.high))
    changed = deployment._replace(objectives=deployment.objectives._replace(itl_s=ms(objective_ms)))
    yield from _if_any(judge_again(changed, f"{change}--itl-ms {objective_ms}", (item.id,)))


def _whole(value: tuple[float, float, float] | None) -> int:
    return 0 if value is None else int(value[1])


def _loss(item: StrategyAssessment) -> float:
    return typical_loss(item.accuracy.low, item.accuracy.high)


def _other_host(deployment: Deployment, catalog: tuple[str, ...], only: tuple[str, ...]) -> Iterator[Remedy]:
    """The smallest other host of the catalog that works, by GPU memory in all, in steps of a sixth."""
    now = deployment.host
    held_gib = to_gib(now.gpu.hbm_bytes.best * now.gpus) if now.gpu else 0.0
    least_gib = max(1.05 * to_gib(deployment.stored_weight_bytes), held_gib)
    for pool_gib, name in pool_sizes(catalog):
        if pool_gib < least_gib or name == now.name:
            continue
        host = load_host(name, catalog)
        engine = engine_there(deployment, host)
        if engine is None:
            continue
        least_gib = pool_gib * 7 / 6
        changed = deployment._replace(
            host=host,
            gpus_installed=host.gpus,
            layout=engine_layout(deployment.model, host.gpus, engine),
            engine=engine,
            settings=deployment.settings._replace(kv_cache_dtype=None),
        )
        all_gpus = f" --gpus {host.gpus}" if deployment.layout.gpus < deployment.gpus_installed else ""
        remedy = judge_again(changed, f"--host {name}{all_gpus}", only)
        if remedy is not None:
            yield remedy
            return
