"""KV204: ``/dev/shm`` of the container is smaller than what the engine puts there.

vLLM's native KV offload has its region there since PR 50094, and ranks that talk over shared memory need some at any
version. A container has 64 MiB unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.engines.host_memory import REGION_SINCE, ROUNDED_UNTIL
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name, pinned_version, ranks_of, version_words
from kvplan.rules.host_limit import stated_bytes
from kvplan.rules.host_use import pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text
from kvplan.units import MIB

ID = "KV204"
TITLE = "/dev/shm is smaller than what the engine puts there"
LEVEL = "fail"
CONTAINER_BYTES = 64.0 * MIB
"""Default of Docker, containerd and CRI-O."""
RANK_BYTES = 128.0 * MIB
"""More than 64 MiB for ranks that talk over shared memory; sources: vllm#1710 and #789, docs of vLLM on --ipc=host."""
_IN_SHM = ("kv_offloading_size", "offload_bytes", "offload_bytes_per_rank")


def check(context: Context) -> Iterator[Finding]:
    value = str(context.translated.values.get("shm_size", ""))
    if value == "host":
        return
    stated = stated_bytes(context, "shm_size")
    if stated is None and not context.found.notes.get("image"):
        return  # no container: /dev/shm is half of the host's memory
    region = sum(part.told_bytes for part in pinned_parts(context) if part.name in _IN_SHM)
    there = CONTAINER_BYTES if stated is None else stated
    words = f"/dev/shm has {_mib(there)}" + (", a container's default" if stated is None else "")
    level = _region_level(context, region, there)
    if level is not None:
        yield _region(context, level, region, there, words)
    elif ranks_of(context).on_a_host > 1 and there < RANK_BYTES:
        yield _ranks(context, "fail" if stated is not None else "warn", there, words)


def _region_level(context: Context, region: float, there: float) -> str | None:
    if engine_name(context) != "vllm" or region <= there or not region:
        return None
    if str(context.translated.values.get("kv_offloading_backend", "")) == "lmcache":
        return None
    version = pinned_version(context)
    if version is not None and version < ROUNDED_UNTIL:
        return None
    return "fail" if version is not None and version >= REGION_SINCE else "warn"


def _region(context: Context, level: str, region: float, there: float, words: str) -> Finding:
    since = "" if level == "fail" else " with vLLM PR 50094"
    return finding(
        ID, level, context, ("shm_size", *_IN_SHM, "kv_transfer_config"),
        f"the offloaded KV lies in /dev/shm{since}: {gib_text(region)}, and {words} ({version_words(context)})",
        figures={"needed_bytes": round(region), "shm_bytes": round(there)},
        formula="offload region <= /dev/shm",
        remedy=f"a /dev/shm of {gib_text(region)} (docker --shm-size or --ipc=host, a memory volume in Kubernetes)",
    )  # fmt: skip


def _ranks(context: Context, level: str, there: float, words: str) -> Finding:
    ranks = ranks_of(context).on_a_host
    return finding(
        ID, level, context, ("shm_size", "tp", "gpus"),
        f"{ranks} ranks talk over shared memory, and {words}",
        figures={"needed_bytes": round(RANK_BYTES), "shm_bytes": round(there), "ranks": ranks},
        formula="shared memory of several ranks <= /dev/shm",
        remedy="--ipc=host or --shm-size=8g (docker), an emptyDir with medium: Memory at /dev/shm (Kubernetes)",
    )  # fmt: skip


def _mib(value_bytes: float) -> str:
    return f"{value_bytes / MIB:,.0f} MiB" if value_bytes < 1024 * MIB else gib_text(value_bytes)
