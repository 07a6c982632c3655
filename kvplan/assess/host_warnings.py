"""What a start asks of host memory beside the ledger: page cache comes and goes, and still counts in a container."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.units import to_gib


def load_warnings(deployment: Deployment) -> list[str]:
    """Weight files pass through the page cache while they are loaded; it gives way, but only to what there is.

    Source: vLLM issues 3035 (28 GB of page cache in a container of 32) and 28923 (killed while loading).
    """
    host = deployment.host
    if host.dram_bytes is None or host.unified_memory or host.gpu is None:
        return []
    weights, room = deployment.stored_weight_bytes, host.dram_bytes - host.os_reserve_bytes
    if weights <= room:
        return []
    return [
        f"loading: the weight files ({to_gib(weights):,.0f} GiB) pass through a page cache of {to_gib(room):,.0f} GiB"
        " at most: slower, and in a container it counts toward the memory limit"
    ]
