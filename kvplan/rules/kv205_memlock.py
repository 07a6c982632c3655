"""KV205: memory is to be pinned, and nothing raises the limit of locked memory.

systemd units have 8 MiB and Docker containers what the daemon has, often 64 KiB to 8 MiB. Container runtimes of
Kubernetes mostly start with none, so that nothing is said there.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.rules.context import Context
from kvplan.rules.host_limit import stated_bytes
from kvplan.rules.host_use import OFFLOADS, pinned_parts
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import gib_text

ID = "KV205"
TITLE = "the limit of locked memory is not raised"
LEVEL = "warn"
_UNLIMITED = {"unlimited", "infinity", "-1"}
_FORMS = {"systemd", "quadlet", "docker-compose"}
"""Forms of runtimes that hand a limit on."""


def check(context: Context) -> Iterator[Finding]:
    value = str(context.translated.values.get("memlock", "")).lower()
    docker = context.found.form == "shell" and bool(context.found.notes.get("image"))
    if value in _UNLIMITED or not (value or docker or context.found.form in _FORMS):
        return
    pinned = sum(part.told.best for part in pinned_parts(context))
    if context.translated.is_on("mlock") or pinned:
        stated = stated_bytes(context, "memlock")
        if stated is not None and stated >= pinned:
            return
        limit = f"the limit of locked memory is {gib_text(stated)}" if stated is not None else (
            "nothing raises the limit of locked memory, 8 MiB by default")  # fmt: skip
        what = f"{gib_text(pinned)} are to be pinned" if pinned else "--mlock pins the model"
        yield finding(
            ID, LEVEL, context, ("memlock", *OFFLOADS, "mlock"), f"{what}, and {limit}: pinning may fail",
            figures={"pinned_bytes": round(pinned), "memlock_bytes": None if stated is None else round(stated)},
            formula="pinned bytes <= RLIMIT_MEMLOCK",
            remedy="LimitMEMLOCK=infinity (systemd), --ulimit memlock=-1 (docker), ulimits.memlock: -1 (compose)",
        )  # fmt: skip
