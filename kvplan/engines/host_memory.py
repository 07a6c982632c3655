"""What engines pin in host memory, with the multiplier that each of them has.

``--kv-offloading-size`` of vLLM is for all ranks of one engine; SGLang, TensorRT-LLM and LMCache take a size for each
rank. PyTorch's pinned buffers are rounded up to powers of two, tensor by tensor.
"""

from __future__ import annotations

import math

from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.domain.model import Model
from kvplan.engines.host_lines import HostPool
from kvplan.engines.interface import Term
from kvplan.engines.versions import release
from kvplan.units import to_gib

ROUNDED_UNTIL = (0, 25)
"""The last vLLM whose KV buffers are pinned tensors; source: vLLM PR 50094, merged at the end of July 2026."""
REGION_SINCE = (0, 28)
"""The first vLLM that surely has its region in /dev/shm; between the two it is not settled which release has the PR."""
ONE_BUFFER_SINCE = (0, 12)
"""Since then a rank has one buffer of all layers, where all layers are of one kind; source: vLLM blog 2026-01-08."""
UNKNOWN_ROUNDING = Interval(1.0, 1.44, 2.0)
"""Rounding up to a power of two of a size that is not known: 1 to 2, and 1/ln 2 on average over sizes."""
PINNED_DENSE = Interval(1.10, 1.16, 1.30)
PINNED_EXPERTS = Interval(1.45, 1.75, 1.95)
"""Source: vLLM issue 56410 (1.15 and 1.18 for dense models, 1.87 to 1.9 for experts), PR 58185 (1.65), 1.78 for GLM."""
HICACHE_LEAST = 1.2
"""``--hicache-ratio`` that kvplan asks for at least: HiCache refuses a host pool that is not above the device's."""

_VLLM = "vLLM OffloadingConnector: cpu_bytes_to_use; issue 53042, PRs 48436 and 50094"
_SGLANG = "SGLang memory_pool_host.py: --hicache-size, --hicache-ratio"
_TRTLLM = "TensorRT-LLM KvCacheConfig.host_cache_size"
_MEMLOCK = "pinned: memlock must allow it (ulimit -l unlimited, LimitMEMLOCK=infinity); whether it does is not known"
_WDDM = "under WDDM what is pinned is charged to GPU memory as well: how much Windows lets through is not known"
_HICACHE = "HiCache wants 10 GiB of the host's memory to stay free, and does not see a container's limit"


def rounded_up(buffer_bytes: float) -> float:
    """A pinned buffer as PyTorch's host allocator takes it: the next power of two.

    Source: vLLM issue 53042 (2.0832 GiB become 4) and PR 50094 (6 GiB become 8, 10 and 12 become 16).
    """
    return float(2 ** math.ceil(math.log2(buffer_bytes))) if buffer_bytes > 1.0 else buffer_bytes


def pinned_bytes(asked_bytes: float, ranks: int, buffers: int) -> float:
    """Host memory of all ranks when each has so many pinned buffers and they share what is asked for evenly."""
    return ranks * buffers * rounded_up(asked_bytes / (ranks * buffers))


def vllm_pool(deployment: Deployment) -> HostPool:
    """Sizes are for all ranks of one engine, and every data-parallel rank is an engine with a region of its own."""
    layout = deployment.layout
    ranks, version = layout.tp * layout.pp, release(deployment.engine.version)
    asked = deployment.settings.kv_offloading_bytes or 0.0
    replicas = f" x {layout.dp} data-parallel ranks" if layout.dp > 1 else ""
    told = Interval.exact(asked * layout.dp)
    rounding, words = Interval.exact(1.0), ""
    if version < REGION_SINCE:
        settled = version < ROUNDED_UNTIL
        rounding = UNKNOWN_ROUNDING if settled else Interval(1.0, 1.0, UNKNOWN_ROUNDING.high)
        told = _rounded(asked, ranks, deployment).scaled(layout.dp)
        told = told if settled else Interval(asked * layout.dp, asked * layout.dp, told.high)
        words = ", each pinned buffer rounded up to a power of two" + ("" if settled else " before PR 50094")
    words = f"{to_gib(asked):g} GiB, all ranks{replicas}{words}" if asked else f"all ranks{replicas}{words}"
    limits = (*_shm(version), *_pinning(deployment), *_lmcache(layout.gpus))
    return HostPool(words, _VLLM, told, rounding, pinned_weights=pinned_weights(deployment.model), limits=limits)


def _rounded(asked_bytes: float, ranks: int, deployment: Deployment) -> Interval:
    """With one buffer for each layer, or one for all of them; which of the two is best depends on the version."""
    if not asked_bytes:
        return Interval.exact(0.0)
    model, pp = deployment.model, deployment.layout.pp
    layers = sum(item.layers for item in model.kv if not item.index_bytes) // pp or 1
    each, one = (pinned_bytes(asked_bytes, ranks, buffers) for buffers in (layers, 1))
    best = one if _one_kind(model) and release(deployment.engine.version) >= ONE_BUFFER_SINCE else each
    high = max(each, one) if _one_kind(model) else 2.0 * asked_bytes  # groups of layers share buffers
    return Interval(min(each, one, best), best, max(high, best))


def _one_kind(model: Model) -> bool:
    return len(model.kv) == 1


def _shm(version: tuple[int, ...]) -> tuple[str, ...]:
    if version < ROUNDED_UNTIL:
        return ()
    since = "" if version >= REGION_SINCE else " from the release on that has PR 50094"
    return (
        f"the region lies in /dev/shm{since}: as much must be free there, and a container has 64 MiB unless --shm-size,"
        " --ipc=host or a memory volume gives it more",
    )


def _pinning(deployment: Deployment) -> tuple[str, ...]:
    return (_WDDM,) if deployment.host.platform in ("windows", "wsl") else (_MEMLOCK,)


def _lmcache(gpus: int) -> tuple[str, ...]:
    return (f"LMCache's max_local_cpu_size is for each of {gpus} ranks, unlike --kv-offloading-size",) * (gpus > 1)


def sglang_pool(deployment: Deployment, budget: Term, weight_bytes: float) -> HostPool:
    """HiCache: a size for each rank and pool, and hybrids have two pools; never below what the device holds."""
    layout = deployment.layout
    pools = 2 if is_hybrid(deployment.model) else 1
    asked = deployment.settings.kv_offloading_bytes or 0.0
    device = budget.bytes.map(lambda value: max(value - weight_bytes, 0.0)).scaled(float(layout.gpus))
    twice = " x 2 pools of a hybrid" if pools > 1 else ""
    words = f"{HICACHE_LEAST:g} x device pool x {layout.gpus} GPUs at least, or the sessions"
    if asked:
        words = f"{to_gib(asked):g} GiB over {layout.tp * layout.pp} ranks{twice}"
    told = asked * pools * layout.dp
    small = ("HiCache does not start: this host pool is not above the device's",) * (0.0 < told <= device.best)
    return HostPool(
        words, _SGLANG,
        told_bytes=Interval.exact(told),
        least_bytes=Interval.exact(0.0) if asked else device.scaled(HICACHE_LEAST),
        limits=(*small, _HICACHE, *_pinning(deployment)),
    )  # fmt: skip


def is_hybrid(model: Model) -> bool:
    """Layers that keep every token beside layers that do not: two pools."""
    grow = {layers.state is None and not layers.window_tokens for layers in model.kv}
    return len(grow) > 1


def tensorrt_llm_pool(deployment: Deployment) -> HostPool:
    """``host_cache_size`` is for each rank, in bytes."""
    layout = deployment.layout
    asked = deployment.settings.kv_offloading_bytes or 0.0
    words = f"{to_gib(asked) / (layout.tp * layout.pp):g} GiB x {layout.gpus} ranks" if asked else "each rank its own"
    told = Interval.exact(asked * layout.dp)
    auto = "without host_cache_size the V2 cache manager takes up to half of the host for each rank: set it"
    return HostPool(words, _TRTLLM, told, limits=(auto, *_pinning(deployment)))


def pinned_weights(model: Model) -> Interval:
    """Host memory for every byte of ``--cpu-offload-gb``: vLLM pins tensor by tensor, each rounded up."""
    return PINNED_DENSE if model.experts is None else PINNED_EXPERTS
