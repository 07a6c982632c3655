"""What a verdict rests on: which input turns it, and how much of the uncertain inputs' space agrees with it."""

from typing import NamedTuple

MOST_CHANGE_FRACTION = 0.20
"""How far off one input is tried."""


class Turn(NamedTuple):
    """One input by itself that turns the verdict."""

    input: str
    change_fraction: float
    """The smallest change that does: 0.12 is 12 % more, -0.12 12 % less."""
    outcome: str
    """What the verdict is then."""
    strategy: str | None
    bound_by: str | None
    """The budget or objective that the strategy of the verdict then misses; None where something fits that did not."""


class Sensitivity(NamedTuple):
    """How firmly a verdict stands."""

    seed: int
    points: int
    """Draws of all uncertain inputs together."""
    inputs: tuple[str, ...]
    """The uncertain inputs that were drawn."""
    holds_fraction: float | None
    """Share of the draws with the same answer; None where the verdict does not rest on figures."""
    turns: tuple[Turn, ...]
    """The inputs that turn it within 20 %, the smallest change first."""
