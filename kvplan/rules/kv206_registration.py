"""KV206: host memory that the driver refuses to register, or may.

One registration above 512 GiB fails (vllm#51080), and in a confidential virtual machine none works (vllm#55428: error
801). Above 200 GiB in one buffer starts were seen to fail (LMCache#1970); the limit behind that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.host_use import OFFLOADS, HostPart, pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text
from kvplan.units import gib

ID = "KV206"
TITLE = "the driver can't register so much host memory"
LEVEL = "fail"
ONE_REGISTRATION = gib(512)
SEEN_TO_FAIL = gib(200)
_SHARED = ("kv_offloading_size", "offload_bytes")
"""One region that every rank registers whole."""


def check(context: Context) -> Iterator[Finding]:
    parts = pinned_parts(context)
    if parts and context.translated.is_on("confidential_computing"):
        message = "the GPU runs in a confidential virtual machine, where host memory can't be registered (error 801)"
        yield finding(ID, "fail", context, (*OFFLOADS, "confidential_computing"), message,
                      remedy="leave the offload out, or take a host without confidential computing")  # fmt: skip
        return
    one, part = max(
        ((_registered(context, part), part) for part in parts), default=(0.0, None), key=lambda item: item[0]
    )
    if part is None or one <= SEEN_TO_FAIL:
        return
    over = one > ONE_REGISTRATION
    why = "one registration above 512 GiB fails" if over else "starts were seen to fail above 200 GiB in one buffer"
    yield finding(
        ID, "fail" if over else "info", context, (part.name, *OFFLOADS),
        f"{part.words}: {gib_text(one)} are registered at once, and {why}",
        figures={"registered_bytes": round(one), "limit_bytes": round(ONE_REGISTRATION)},
        formula="bytes of one registration <= 512 GiB",
        remedy=f"at most {gib_text(ONE_REGISTRATION)} in one region, or one for each rank",
    )  # fmt: skip


def _registered(context: Context, part: HostPart) -> float:
    """The largest single registration: the region, or a rank's share."""
    return part.told_bytes if part.name in _SHARED else part.told.best / ranks_of(context).on_a_host
