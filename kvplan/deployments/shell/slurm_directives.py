"""What a batch script asks of Slurm for each node: ``#SBATCH`` lines. Source: sbatch(1); its units are binary."""

from __future__ import annotations

import re

from kvplan.deployments.found import Setting
from kvplan.deployments.interface import Source

_LINE = re.compile(r"^#SBATCH[ \t]+(--?[\w-]+)(?:[ \t]*=[ \t]*|[ \t]+)(\S+)", re.MULTILINE)
_GPUS = re.compile(r"^(?:gpu:)?(?:([A-Za-z][\w.-]*):)?(\d{1,3})$")
_MEMORY = re.compile(r"^(\d{1,9})([KMGT]?)B?$", re.IGNORECASE)


def settings_of_slurm(source: Source) -> list[Setting]:
    """GPUs with their type, memory and CPUs."""
    found: dict[str, Setting] = {}
    for match in list(_LINE.finditer(source.text))[:200]:
        place = source.at(source.text.count("\n", 0, match.start()) + 1)
        option, value = match[1], match[2]
        gpus = (
            _GPUS.match(value) if option in ("--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task") else None
        )
        amount = _MEMORY.match(value) if option == "--mem" else None
        if gpus is not None:
            found["gpus"] = Setting("gpus", int(gpus[2]), place)
            if gpus[1]:
                found["gpu_product"] = Setting("gpu_product", gpus[1], place)
        elif amount is not None and int(amount[1]):  # --mem=0 is all the memory of the node
            found["memory_limit"] = Setting("memory_limit", f"{amount[1]}{(amount[2] or 'M').upper()}i", place)
        elif option in ("--cpus-per-task", "-c") and value.isdecimal():
            found["cpu_limit"] = Setting("cpu_limit", value, place)
    return list(found.values())
