"""What a file leaves open: one question for each cause, and what can be said whatever the answer is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kvplan.deployments.found import FoundDeployment, Place, Setting, Unresolved, Value
from kvplan.rules.context import Problem

_KINDEST: Final[dict[str, Value]] = {
    "enforce_eager": True,
    "gpu_fraction": 1.0,
    "gpu_memory_utilization": 1.0,
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 1,
    "mem_fraction_static": 0.99,
    "swap_space": 0,
}
"""Values with which a model fits if it ever does: all of the card, no graphs, the smallest batches."""


def unresolved_problems(items: Iterable[Unresolved]) -> list[Problem]:
    """One for each cause: a variable that fills three settings is one question."""
    causes: dict[tuple[Place, str], list[Unresolved]] = {}
    for item in items:
        causes.setdefault((item.place, item.reason), []).append(item)
    found = []
    for (place, reason), group in causes.items():
        names = dict.fromkeys("more arguments" if item.name == "arguments" else item.name for item in group)
        texts = dict.fromkeys(repr(item.text) for item in group)
        message = f"{', '.join(names)} {', '.join(texts)} can't be resolved: {reason}"
        found.append(Problem("KV412", "unknown", message, place, "write the value literally"))
    return found


def at_best(found: FoundDeployment) -> FoundDeployment | None:
    """The deployment with the kindest values of what it leaves open; None where that may be anything.

    A tensor-parallel size can't be more than the GPUs that are asked for.
    """
    kindest = dict(_KINDEST)
    gpus = found.value("gpus")
    if isinstance(gpus, int) and not {"pp", "dp"} & set(found.settings):
        kindest["tp"] = gpus
    stopping = [item for item in found.unresolved if item.stops and item.name != "max_model_len"]
    if not stopping or any(item.name not in kindest for item in stopping):
        return None
    settings = {item.name: Setting(item.name, kindest[item.name], item.place) for item in stopping}
    left = tuple(item for item in found.unresolved if item not in stopping)
    return replace(found, settings={**found.settings, **settings}, unresolved=left)
