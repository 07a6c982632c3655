"""Quantization and offload together: fewer bytes, and those in host memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvplan.core.accounts import Placement
from kvplan.strategies.interface import (
    Accuracy,
    Ends,
    Excuse,
    Input,
    Method,
    Situation,
    Strategy,
)

PAIRED: Final = ("kv-fp8", "kv-q8_0", "kv-int8", "kv-nvfp4", "kv-int4", "kv-q4_0")
"""Formats that people combine with a placement. Others are combined where a pair is named."""


class Combined:
    """A KV format and a placement. Losses of accuracy are added up; nobody published the pair."""

    stock = False
    listed = True

    def __init__(self, quantization: Strategy, placement: Strategy) -> None:
        self.quantization, self.placement = quantization, placement
        self.id = f"{quantization.id}+{placement.id}"
        self.title = f"{quantization.title}, {placement.title}"
        self.order = 100 + quantization.order * 10 + placement.order
        self.kv_suffix: str | None = quantization.kv_suffix
        self.second_pool: bool = placement.second_pool
        self.accuracy: Accuracy = quantization.accuracy.plus(placement.accuracy)
        self.formula: tuple[str, ...] = (*quantization.formula[:1], *placement.formula)
        self.inputs: tuple[Input, ...] = (*quantization.inputs, *placement.inputs)
        self.evidence: tuple[str, ...] = (*quantization.evidence, *placement.evidence)

    def excuse(self, situation: Situation) -> Excuse | None:
        return self.quantization.excuse(situation) or self.placement.excuse(situation)

    def method(self, situation: Situation) -> Method | None:
        return self.placement.method(situation)

    def proof(self, situation: Situation) -> tuple[str, ...]:
        return (*self.quantization.proof(situation), *self.placement.proof(situation))

    def loss(self, situation: Situation) -> Accuracy:
        return self.quantization.loss(situation).plus(self.placement.loss(situation))

    def charges(self, situation: Situation) -> Ends:
        rate = self.quantization.charges(situation)[1].kv_rate_fraction
        low, best, high = (row._replace(kv_rate_fraction=rate) for row in self.placement.charges(situation))
        return low, best, high

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        first = self.quantization.flags(situation, placed)
        second = self.placement.flags(situation, placed)
        return None if first is None or second is None else (*first, *second)

    def notes(self, situation: Situation) -> tuple[str, ...]:
        found = (*self.quantization.notes(situation), *self.placement.notes(situation))
        if self.placement.stock:
            return found
        return (*found, "the pair was not measured by anyone we know of")


def combine(strategies: Iterable[Strategy]) -> list[Strategy]:
    """The formats that people combine, with every strategy that moves bytes to host memory."""
    return pairs(item for item in strategies if item.kv_suffix is None or item.id in PAIRED)


def pairs(strategies: Iterable[Strategy]) -> list[Strategy]:
    """Every quantized format among them with every one that moves bytes to host memory."""
    plain = list(strategies)
    formats = [strategy for strategy in plain if strategy.kv_suffix is not None]
    placements = [strategy for strategy in plain if strategy.kv_suffix is None and strategy.second_pool]
    return [Combined(quantization, placement) for quantization in formats for placement in placements]
