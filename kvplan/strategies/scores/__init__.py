"""Published losses of accuracy by class of task: what a format or a method loses on retrieval, reasoning and chat.

A class that nobody scored stays unknown: what is published for another class is never taken instead. A score of a near
relative on the same class may be, and then ``on`` says whose it is.
"""

from __future__ import annotations

from kvplan.domain.task import TASKS
from kvplan.strategies import find_strategy
from kvplan.strategies.interface import Accuracy, Situation, Strategy
from kvplan.strategies.scores.formats import FORMATS
from kvplan.strategies.scores.methods import METHODS


def published(name: str, task: str) -> Accuracy:
    """What a format (by strategy id) or a method (by name) loses on a class of task."""
    found = {**FORMATS, **METHODS}.get(name, {}).get(task)
    return found or Accuracy(None, None, f"no published figure for {TASKS[task]}", "none")


def loss_on(task: str, strategy: Strategy, situation: Situation) -> Accuracy:
    """What a strategy loses here on a class of task; losses of a format and a placement are added up."""
    first, _, second = strategy.id.partition("+")
    if second:
        parts = [loss_on(task, find_strategy(name), situation) for name in (first, second)]
        return parts[0].plus(parts[1])
    if strategy.kv_suffix is not None:
        return format_loss(task, strategy.id, strategy.kv_suffix, situation)
    method = strategy.method(situation)
    anywhere, here = method.accuracy if method else strategy.accuracy, strategy.loss(situation)
    if anywhere.high == 0.0 or (task == "retrieval" and here.high is None and anywhere.high is not None):
        return here  # exact, or at a context outside those that were scored
    return published(method.name if method else strategy.id, task)


def format_loss(task: str, strategy_id: str, kv_suffix: str, situation: Situation) -> Accuracy:
    """A KV format's loss: by the engine's own word for it where that was scored (SGLang's ``fp4_e2m1``)."""
    kernel = situation.kernels.get(kv_suffix)
    own = kernel.format.name if kernel is not None else ""
    return published(own if own in FORMATS else strategy_id, task)
