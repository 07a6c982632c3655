"""KV206: host memory that the driver refuses to register, or may.

One registration above 512 GiB fails (vllm#51080), and in a confidential virtual machine none works (vllm#55428: error
801). Above 200 GiB in one buffer starts were seen to fail (LMCache#1970); the limit behind that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name, pinned_version, ranks_of, version_words
from kvplan.rules.host_use import OFFLOADS, HostPart, pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text
from kvplan.units import gib

ID = "KV206"
TITLE = "the driver can't register so much host memory"
LEVEL = "fail"
ONE_TENSOR = gib(4)
_TENSOR_UNTIL = {"vllm": (0, 10), "sglang": (0, 4, 9)}
"""Releases after LMCache (August 2025) and HiCache (July 2025) changed how they pin: LMCache#1063 and #1051, 5 GB fail
and 2 GB do not; sglang#7666, nothing above 4 GB."""
_HUGE_PAGES = "SGLANG_HUGEPAGE_SIZE"
_CONFIDENTIAL_MACHINE = re.compile(r"^standard_ncc", re.IGNORECASE)
"""Azure's confidential machines with GPUs, such as Standard_NCC40ads_H100_v5."""
ONE_REGISTRATION = gib(512)
SEEN_TO_FAIL = gib(200)
_SHARED = ("kv_offloading_size", "offload_bytes")
"""One region that every rank registers whole."""


def check(context: Context) -> Iterator[Finding]:
    parts = pinned_parts(context)
    if parts and _is_confidential(context):
        message = "the GPU runs in a confidential virtual machine, where host memory can't be registered (error 801)"
        yield finding(ID, "fail", context, (*OFFLOADS, "confidential_computing"), message,
                      remedy="leave the offload out, or take a host without confidential computing")  # fmt: skip
        return
    yield from _huge_pages(context)
    one, part = max(
        ((_registered(context, part), part) for part in parts), default=(0.0, None), key=lambda item: item[0]
    )
    if part is None:
        return
    if one > SEEN_TO_FAIL:
        yield _large(context, part, one)
    elif _is_old_tensor(context, part) and one > ONE_TENSOR:
        yield finding(
            ID, "warn", context, (part.name, *OFFLOADS),
            f"{part.words}: {gib_text(one)} are pinned as one tensor by {version_words(context)}, and drivers refused "
            "some above 4 GiB (invalid argument; https://github.com/LMCache/LMCache/issues/1063)",
            figures={"registered_bytes": round(one), "limit_bytes": round(ONE_TENSOR)},
            formula="bytes of one pinned tensor <= 4 GiB, where the driver has that limit",
            remedy="a newer engine, whose buffer is registered after it was allocated, or at most 4 GiB",
        )  # fmt: skip


def _large(context: Context, part: HostPart, one: float) -> Finding:
    over = one > ONE_REGISTRATION
    why = "one registration above 512 GiB fails" if over else "starts were seen to fail above 200 GiB in one buffer"
    return finding(
        ID, "fail" if over else "info", context, (part.name, *OFFLOADS),
        f"{part.words}: {gib_text(one)} are registered at once, and {why}",
        figures={"registered_bytes": round(one), "limit_bytes": round(ONE_REGISTRATION)},
        formula="bytes of one registration <= 512 GiB",
        remedy=f"at most {gib_text(ONE_REGISTRATION)} in one region, or one for each rank",
    )  # fmt: skip


def _is_confidential(context: Context) -> bool:
    instance = str(context.translated.values.get("instance_type", ""))
    return context.translated.is_on("confidential_computing") or _CONFIDENTIAL_MACHINE.match(instance) is not None


def _huge_pages(context: Context) -> Iterator[Finding]:
    """SGLang's check of free memory leaves reserved huge pages out, from which the pool would come."""
    place = context.found.variables.get(_HUGE_PAGES)
    if place is None or engine_name(context) != "sglang" or not context.translated.is_on("enable_hierarchical_cache"):
        return
    message = (
        f"{_HUGE_PAGES}: SGLang compares its host pool with the memory that is free beside reserved huge pages, and "
        "may refuse to start although they would hold it (https://github.com/sgl-project/sglang/issues/34972)"
    )
    remedy = "reserve no more than leaves as much free as the pool, or leave the huge pages out"
    yield Finding(ID, "warn", context.found.name, str(place), message, remedy=remedy)


def _is_old_tensor(context: Context, part: HostPart) -> bool:
    """Buffers that PyTorch pinned while it allocated them."""
    since, version = _TENSOR_UNTIL.get(engine_name(context)), pinned_version(context)
    in_tensor = part.name in ("lmcache_gib_per_rank", "hicache_gb_per_rank", "hicache_ratio")
    return in_tensor and since is not None and version is not None and version < since


def _registered(context: Context, part: HostPart) -> float:
    """The largest single registration: the region, or a rank's share."""
    return part.told_bytes if part.name in _SHARED else part.told.best / ranks_of(context).on_a_host
