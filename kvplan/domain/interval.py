"""A figure that is not known exactly: a low, a best and a high value."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Interval(NamedTuple):
    """``low <= best <= high``, all in the same SI unit."""

    low: float
    best: float
    high: float

    @classmethod
    def exact(cls, value: float) -> "Interval":
        """An interval whose three values are equal."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def plus(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.best + other.best, self.high + other.high)

    def less_independent(self, terms: Iterable["Interval"]) -> "Interval":
        """This less terms that err independently of one another: distances from the best values add in quadrature."""
        best, below, above = self.best, (self.best - self.low) ** 2, (self.high - self.best) ** 2
        for term in terms:
            best -= term.best
            below += (term.high - term.best) ** 2
            above += (term.best - term.low) ** 2
        return Interval(best - math.sqrt(below), best, best + math.sqrt(above))

    def scaled(self, factor: float) -> "Interval":
        """Times a factor that is not negative."""
        return Interval(self.low * factor, self.best * factor, self.high * factor)

    def map(self, function: Callable[[float], float]) -> "Interval":
        """The image under a monotone function, ordered again."""
        low, best, high = function(self.low), function(self.best), function(self.high)
        return Interval(min(low, high), best, max(low, high))
