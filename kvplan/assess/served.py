"""The rate of all users together, from the three ends of the uncertainty."""

from __future__ import annotations

from typing import Final

from kvplan.domain.interval import Interval

SPREAD: Final = 0.6
"""How far towards its ends the rate is given. At an end every input is at its worst at once, and they err apart.

Source: closed loops and single streams, half of the rows: so holds 85 to 90 % of them; the ends themselves 95 %.
"""


def spread_rate(slow: float, best: float, fast: float) -> Interval:
    """Tokens per second at the pessimistic, best and optimistic end -> what is told; the same share of each ratio."""
    low = best * (min(slow, best) / best) ** SPREAD
    return Interval(low, best, best * (max(fast, best) / best) ** SPREAD)
