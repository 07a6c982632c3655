"""What a unit is given of the host. Source: systemd.resource-control(5), systemd.exec(5)."""

from __future__ import annotations

import re

from kvplan.deployments.container import cpus_listed, memlock_of, quantity_of
from kvplan.deployments.found import Complaint, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.systemd.unit_files import Entry, Unit

_PERCENT = re.compile(r"^(\d+(?:\.\d+)?)%$")


def limits_of(unit: Unit, section: str = "Service") -> Given:
    """``MemoryMax=`` (or ``MemoryHigh=``, above which the unit is slowed down), CPUs, ``LimitMEMLOCK=``."""
    limits = Given()
    for key in ("MemoryMax", "MemoryLimit", "MemoryHigh"):
        entry = unit.last(section, key)
        if entry is not None and entry.text.strip() not in ("infinity", "max"):
            _memory(entry, limits)
            break
    _cpus(unit, section, limits)
    memlock = unit.last(section, "LimitMEMLOCK")
    if memlock is not None:
        text = memlock_of(memlock.text)
        limits.put("memlock", quantity_of(text) or text, memlock.place)
    return limits


def _memory(entry: Entry, limits: Given) -> None:
    text = entry.text.strip()
    value = quantity_of(text)
    if value is not None:
        limits.put("memory_limit", value, entry.place)
    elif _PERCENT.match(text):
        reason = f"{entry.key} is a share of the host's memory"
        limits.unresolved.append(Unresolved("memory_limit", text, entry.place, reason, stops=False))
    else:
        limits.complaints.append(Complaint(f"{entry.key} can't be {text[:40]!r}", entry.place))


def _cpus(unit: Unit, section: str, limits: Given) -> None:
    """``CPUQuota=400%`` is four CPUs; ``AllowedCPUs=`` and ``CPUAffinity=`` list them."""
    counts: list[tuple[float, Entry]] = []
    quota = unit.last(section, "CPUQuota")
    percent = _PERCENT.match(quota.text.strip()) if quota is not None else None
    if quota is not None and percent is not None and float(percent[1]) > 0:
        counts.append((float(percent[1]) / 100, quota))
    for key in ("AllowedCPUs", "CPUAffinity"):
        entry = unit.last(section, key)
        listed = cpus_listed(entry.text) if entry is not None else 0
        if entry is not None and listed:
            counts.append((float(listed), entry))
    if counts:
        count, entry = min(counts, key=lambda item: item[0])
        limits.put("cpu_limit", f"{count:g}", entry.place)
