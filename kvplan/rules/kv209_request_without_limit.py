"""KV209: host memory that the scheduler does not know of: pinned beyond the request, or no limit around it.

Pinned memory can't be reclaimed. Without a limit the node runs out instead of the pod, which on unified memory stops
the machine (LLMKube#1724).
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.host_limit import stated_bytes
from kvplan.rules.host_use import OFFLOADS, pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text

ID = "KV209"
TITLE = "memory is requested or pinned without a limit"
LEVEL = "warn"
_ORCHESTRATED = ("cpu_request", "memory_request", "cpu_limit", "memory_limit", "gpus", "gpu_product", "instance_type")


def check(context: Context) -> Iterator[Finding]:
    """Only where something schedules by requests: forms that state none have no scheduler."""
    if not _is_scheduled(context):
        return
    request, limit = stated_bytes(context, "memory_request"), stated_bytes(context, "memory_limit")
    pinned = sum(part.told.best for part in pinned_parts(context))
    unified = context.host is not None and context.host.unified_memory
    if limit is None and (pinned or (unified and request is not None)):
        what = f"{gib_text(pinned)} are pinned" if pinned else "GPU and host share one memory"
        have = "a memory request but no limit" if request is not None else "neither a memory request nor a limit"
        yield finding(
            ID, LEVEL, context, ("memory_request", *OFFLOADS), f"{what}, and the container has {have}",
            figures={"pinned_bytes": round(pinned), "request_bytes": None if request is None else round(request)},
            formula="pinned bytes <= memory limit",
            remedy="a memory limit, and a request of the same size",
        )  # fmt: skip
    elif request is not None and pinned > request:
        yield finding(
            ID, LEVEL, context, ("memory_request", *OFFLOADS),
            f"{gib_text(pinned)} are pinned, and the memory request is {gib_text(request)}: the scheduler places the "
            "pod where so much may not be free",
            figures={"pinned_bytes": round(pinned), "request_bytes": round(request)},
            formula="pinned bytes <= memory request",
            remedy=f"a memory request of at least {gib_text(pinned)}",
        )  # fmt: skip


def _is_scheduled(context: Context) -> bool:
    compose = context.found.form in ("docker-compose", "shell", "systemd", "quadlet", "kvplan", "dockerfile")
    return not compose and context.has(*_ORCHESTRATED)
