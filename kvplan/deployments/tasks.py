"""``--task`` and the loss of accuracy that it can bear."""

from __future__ import annotations

import math

from kvplan.deployments.words import Words
from kvplan.domain.task import TASKS, Task
from kvplan.errors import InputError, UnknownName


def task_of(words: Words) -> Task | None:
    """The task that was named; None where none was. Raises UnknownName, or InputError for a limit that is none."""
    limit = words.max_loss_points
    if words.task is None:
        if limit is not None:
            raise InputError("--max-loss-points needs a task", help="--task retrieval, reasoning or chat")
        return None
    name = words.task.strip().lower()
    if name not in TASKS:
        raise UnknownName.of("task", words.task, TASKS, listing="known: " + ", ".join(TASKS))
    if limit is None:
        return Task(name)
    if not math.isfinite(limit) or not 0.0 <= limit <= 100.0:
        raise InputError(f"--max-loss-points must be from 0 to 100 (it is {limit!r})")
    return Task(name, limit)
