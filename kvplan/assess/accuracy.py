"""What a strategy loses in accuracy here, and whether a task can bear it."""

from __future__ import annotations

from kvplan.assess.frame import Frame
from kvplan.domain.assessment import AccuracyLoss
from kvplan.domain.task import Task
from kvplan.engines.interface import KvKernel
from kvplan.strategies import all_strategies
from kvplan.strategies.interface import NO_SCORE, Accuracy, Strategy


def accuracy_loss(frame: Frame, strategy: Strategy) -> AccuracyLoss:
    """What a strategy loses here: some scores are published up to a context only, and a KV type adds its own.

    With a task, what is published for that class of task, and for no other.
    """
    task, situation = frame.deployment.task, frame.situation
    if task is None:
        loss = strategy.loss(situation)
    else:
        from kvplan.strategies.scores import loss_on

        loss = loss_on(task.name, strategy, situation)
    if strategy.kv_suffix is None and frame.resident_kernel is not None:
        loss = _loss_of_kernel(frame, frame.resident_kernel).plus(loss)
    return AccuracyLoss(loss.low, loss.high, loss.on, loss.source, None if task is None else task.name)


def _loss_of_kernel(frame: Frame, kernel: KvKernel) -> Accuracy:
    """What the KV type that ``--kv-cache-dtype`` chose loses: as the strategy of that type says."""
    suffix = next(name for name, known in frame.situation.kernels.items() if known is kernel)
    named = next((item for item in all_strategies().values() if item.kv_suffix == suffix), None)
    task = frame.deployment.task
    if named is None or task is None:
        return NO_SCORE if named is None else named.accuracy
    from kvplan.strategies.scores import format_loss

    return format_loss(task.name, named.id, suffix, frame.situation)


def too_lossy(task: Task | None, loss: AccuracyLoss) -> str:
    """Why a task makes a strategy tight: its worst published loss is above the limit; empty where it does not.

    What nobody has published is no reason: it is unknown, and ranks last.
    """
    if task is None or loss.high is None or loss.high <= task.most_loss_points:
        return ""
    span = f"{loss.high:g}" if loss.low == loss.high else f"{loss.low:g} to {loss.high:g}"
    return f"{task.words} loses {span} points ({loss.on}), more than the {task.most_loss_points:g} allowed"
