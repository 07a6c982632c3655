"""A figure that is not known exactly: a low, a best and a high value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Interval(NamedTuple):
    """``low <= best <= high``, all in the same SI unit."""

    low: float
    best: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Interval:
        """An interval whose three values are equal."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def plus(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.best + other.best, self.high + other.high)

    def scaled(self, factor: float) -> Interval:
        """Times a factor that is not negative."""
        return Interval(self.low * factor, self.best * factor, self.high * factor)

    def map(self, function: Callable[[float], float]) -> Interval:
        """The image under a monotone function, ordered again."""
        low, best, high = function(self.low), function(self.best), function(self.high)
        return Interval(min(low, high), best, max(low, high))
