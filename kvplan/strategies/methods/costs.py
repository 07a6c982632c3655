"""From intervals of constants to the three rows of charges."""

from __future__ import annotations

from typing import Final

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import RESIDENT, Accuracy, Ends

CHEAPER_HIGH: Final = {"link_rate_fraction", "cpu_rate_fraction"}
"""Charges of which more is better."""

NO_SCORE: Final = Accuracy(None, None, "no task score found", "none")

PREFILL: Final = Interval(1.03, 1.06, 1.10)
"""RetroInfer: 3 % more at 1M tokens, 6 % at 120k."""


def ends(**costs: Interval | float) -> Ends:
    """Three rows, optimistic first: each constant at the end of its interval that costs less, in the middle, more."""
    rows = []
    for end in (0, 1, 2):
        row = {}
        for name, cost in costs.items():
            span = cost if isinstance(cost, Interval) else Interval.exact(cost)
            row[name] = span[2 - end] if name in CHEAPER_HIGH else span[end]
        rows.append(RESIDENT._replace(**row))
    low, best, high = rows
    return low, best, high
