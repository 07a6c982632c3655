"""How much host memory a deployment may take: its container's limit, or what the host has."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.surroundings import quantity_bytes


class HostLimit(NamedTuple):
    """A ceiling of host memory, and whose it is."""

    bytes: float
    words: str
    container: bool


def host_limit(context: Context) -> HostLimit | None:
    """The container's limit where there is one, else the memory of one host less what its system keeps."""
    host = context.judged.deployment.host if context.judged is not None else context.host
    if host is not None and host.unified_memory:
        return None
    limit = stated_bytes(context, "memory_limit")
    if host is None or host.dram_bytes is None:
        return None if limit is None else HostLimit(limit, "the container's limit", True)
    there = (host.dram_bytes - host.os_reserve_bytes) / ranks_of(context).nodes
    if limit is not None and limit <= there:
        return HostLimit(limit, "the container's limit", True)
    return HostLimit(there, f"what {host.name} has for it", limit is not None)


def stated_bytes(context: Context, name: str) -> float | None:
    """A quantity of the file (``64Gi``) in bytes; None where there is none, or where it cannot be read."""
    value = context.translated.values.get(name)
    if value is None:
        return None
    try:
        return quantity_bytes(str(value))
    except InputError:
        return None
