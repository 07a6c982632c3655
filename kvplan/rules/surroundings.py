"""The host as a container sees it, and whether it is the one that the file asks for."""

from __future__ import annotations

import re
from typing import Any

from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.errors import InputError
from kvplan.units import parse_bytes

_MODEL_WORD = re.compile(r"[A-Z]{0,3}\d+[A-Z]{0,3}")
_CARD_GB = re.compile(r"(?<!\d)(\d{2,3})[ -]?GB")
_NO_MODEL = re.compile(r"^\d+GB?$|^HBM\d|^SXM\d|^X\d+$|^\d$")


def contained(host: Host, cpu_limit: str | None, memory_limit: str | None) -> Host:
    """The host inside the limits of a container.

    A CPU limit counts logical CPUs, of which two make a core. A memory limit is all the container's own: what the
    operating system keeps comes out of the rest. On unified memory it does not bound what the GPU takes.
    """
    changes: dict[str, Any] = {}
    if cpu_limit is not None:
        cores = cpus(cpu_limit) / 2
        changes["cpu_cores"] = Interval.exact(cores) if host.cpu_cores is None else host.cpu_cores.map(
            lambda value: min(value, cores))  # fmt: skip
        changes["installed_cores"] = host.installed_cores or (host.cpu_cores.best if host.cpu_cores else None)
    if memory_limit is not None and not host.unified_memory:
        usable = quantity_bytes(memory_limit)
        if host.dram_bytes is not None:
            usable = min(usable, host.dram_bytes - host.os_reserve_bytes)
        changes["dram_bytes"] = usable + host.os_reserve_bytes
    return host._replace(**changes) if changes else host


def several(host: Host, nodes: int) -> Host:
    """So many such hosts as one; the network between them is not modelled."""
    if nodes == 1:
        return host
    return host._replace(
        gpus=host.gpus * nodes,
        cpu_cores=host.cpu_cores.scaled(nodes) if host.cpu_cores else None,
        dram_bytes=host.dram_bytes * nodes if host.dram_bytes is not None else None,
        dram_bytes_per_s=host.dram_bytes_per_s.scaled(nodes) if host.dram_bytes_per_s else None,
        numa_nodes=host.numa_nodes * nodes if host.numa_nodes else None,
        os_reserve_bytes=host.os_reserve_bytes * nodes,
        efficiency_cores=host.efficiency_cores * nodes,
        installed_cores=host.installed_cores * nodes if host.installed_cores else None,
    )


def cpus(text: str) -> float:
    """``500m`` or ``8`` logical CPUs."""
    match = re.match(r"^(\d+(?:\.\d+)?)(m?)$", text.strip())
    number = (float(match[1]) / (1000 if match[2] else 1)) if match else 0.0
    if number <= 0:
        raise InputError(f"a CPU limit must look like 8 or 500m (it is {text[:40]!r})")
    return number


def quantity_bytes(text: str) -> float:
    """``64Gi``, ``64G`` or a number of bytes."""
    if re.match(r"^\d+(?:\.\d+)?m$", text.strip()):
        raise InputError(f"a memory limit of thousandths of a byte is a slip of the pen ({text[:40]!r})")
    number = parse_bytes(text, what="a memory limit")
    if number <= 0:
        raise InputError(f"a memory limit must be more than 0 (it is {text[:40]!r})")
    return float(number)


def is_other_gpu(product: str, gpu_name: str) -> bool:
    """Whether a label such as ``NVIDIA-H100-80GB-HBM3`` names another GPU than the host has.

    Compared are the model words (H100, L40S, 4090). A label without one says nothing.
    """
    label, owned = product.upper(), gpu_name.upper()
    words = [word for word in re.split(r"[-_ .]+", label) if _MODEL_WORD.fullmatch(word) and not _NO_MODEL.match(word)]
    if not words:
        return False
    name = re.sub(r"\(.*|\d+ ?GB", "", owned)
    spellings = (re.sub(r"[-_ .]+", " ", name), re.sub(r"[-_ .]+", "", name))
    if not any(re.search(rf"(?<![0-9A-Z]){words[0]}(?![0-9A-Z])", spelling) for spelling in spellings):
        return True
    asked, there = _CARD_GB.search(label), _CARD_GB.search(owned)
    return bool(asked and there and not words[0].startswith("G") and asked[1] != there[1])
