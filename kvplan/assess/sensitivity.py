"""How firmly a verdict stands: the input that turns it first, and the share of the inputs' space in which it holds.

At a point every input is known, so that a strategy either fits or does not. A verdict that names a strategy holds where
that one fits; a verdict that nothing fits holds where nothing does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.assess.frame import Frame, plan_ends
from kvplan.assess.judge import binding
from kvplan.assess.longest import request_alone, tokens_at_load
from kvplan.assess.uncertain import (
    NAMED,
    PlanInput,
    Spread,
    drawn_plan,
    owner_of,
    placed_at,
    scaled_plan,
    spreads,
    triangular,
)
from kvplan.assess.verdict import best_first, closest
from kvplan.core.accounts import Loads
from kvplan.core.decode import decode_step
from kvplan.core.placement import place
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import FULL, heaviest, loads, outcome
from kvplan.domain.assessment import OUTCOMES, Assessment, StrategyAssessment
from kvplan.domain.interval import Interval
from kvplan.domain.sensitivity import MOST_CHANGE_FRACTION, Sensitivity, Turn
from kvplan.strategies import find_strategy

POINTS = 512
DEFAULT_SEED = 1
_STEPS = (0.05, 0.10, 0.15, MOST_CHANGE_FRACTION)
_FINEST_FRACTION = 0.0005
_HOPELESS_LOAD = 2.0
"""A strategy this far over at its best estimate does not fit because one input is 20 % off."""
_OUT_OF_REACH_LOAD = 1.25
"""A strategy this far over at its optimistic end fits at no point between the ends."""
_LENGTHS = "mean length of a sequence"
USERS = PlanInput("users", ())
CONTEXT = PlanInput("context", ())


class Point(NamedTuple):
    """One strategy with every input known."""

    plan: Plan
    context_tokens: float
    users: float


class Candidate(NamedTuple):
    """One strategy that figures can judge."""

    item: StrategyAssessment
    best: Point
    varying: tuple[Spread, ...]


class Ground(NamedTuple):
    """What a verdict rests on."""

    frame: Frame
    lengths: Interval
    candidates: tuple[Candidate, ...]
    named: Candidate | None
    """The strategy of the verdict; None where nothing fits."""


def sensitivity(frame: Frame, assessment: Assessment, seed: int = DEFAULT_SEED) -> Sensitivity:
    """What turns the verdict, and how much of the uncertain inputs' space agrees with it. A seed repeats the draws."""
    ground = ground_of(frame, assessment)
    if not ground.candidates or assessment.verdict.outcome in ("unknown", "na"):
        return Sensitivity(seed, 0, (), None, ())
    names = drawn_inputs(ground)
    holding = sum(holds(ground, point) for point in draws(ground, names, seed))
    return Sensitivity(seed, POINTS, names, holding / POINTS, turns(ground))


def ground_of(frame: Frame, assessment: Assessment) -> Ground:
    """The strategies whose figures decide: all that were judged, unless the layout or the context excuses them."""
    lengths = tokens_at_load(frame.deployment, frame.situation.policy)
    users = float(frame.deployment.workload.users)
    found = []
    for item in assessment.strategies if frame.topology_excuse is None else ():
        if item.budgets:
            ends = plan_ends(frame, find_strategy(item.id))
            found.append(Candidate(item, Point(ends[1], lengths.best, users), spreads(ends)))
    named = next((one for one in found if one.item.id == assessment.verdict.strategy), None)
    return Ground(frame, lengths, tuple(found), named)


def drawn_inputs(ground: Ground) -> tuple[str, ...]:
    """The uncertain inputs of the strategies that decide, by name."""
    names = {spread.input for one in deciding(ground) for spread in one.varying}
    return tuple(sorted(names | ({_LENGTHS} if not ground.lengths.is_exact else set())))


def deciding(ground: Ground) -> tuple[Candidate, ...]:
    """The strategy of the verdict; where nothing fits, the closest and all that might inside their intervals."""
    if ground.named is not None:
        return (ground.named,)
    near = closest(one.item for one in ground.candidates)
    return tuple(one for one in ground.candidates if one.item is near or one.item.overload <= _OUT_OF_REACH_LOAD)


def draws(ground: Ground, names: Sequence[str], seed: int) -> list[dict[str, float]]:
    """So many points: every input by itself, between its ends, likeliest at its best estimate."""
    from random import Random

    draw = Random(seed)
    return [{name: triangular(draw.random()) for name in names} for _ in range(POINTS)]


def holds(ground: Ground, positions: dict[str, float]) -> bool:
    """Whether the verdict is the same at a point."""
    low, best, high = ground.lengths
    tokens = best
    if not ground.lengths.is_exact:
        tokens = placed_at((low, best, high), positions[_LENGTHS])
    points = (
        Point(drawn_plan(one.best.plan, one.varying, positions), tokens, one.best.users) for one in deciding(ground)
    )
    return any(fits(ground.frame, point) for point in points) == (ground.named is not None)


def fits(frame: Frame, point: Point) -> bool:
    """Whether a strategy is inside every budget and objective, and the longest request has room by itself."""
    if heaviest(loads(*point)) > FULL:
        return False
    alone = request_alone(frame.deployment, (point.plan, point.plan, point.plan))
    return alone is None or alone.outcome in ("fits", "tight")


def turns(ground: Ground) -> tuple[Turn, ...]:
    """Every input that turns the verdict when it alone is off, each at its smallest change."""
    varying = {owner_of(f"{spread.record}.{spread.field}") for one in ground.candidates for spread in one.varying}
    others = sorted(varying - set(NAMED))
    found = []
    for item in (*NAMED, *others, USERS, CONTEXT):
        for sign in (-1.0, 1.0):
            change = smallest_change(ground, item, sign)
            if change is not None:
                found.append(_turn(ground, item, sign * change))
    return tuple(sorted(found, key=lambda turn: abs(turn.change_fraction)))


def smallest_change(ground: Ground, item: PlanInput, sign: float) -> float | None:
    """The smallest share up to 20 % at which the verdict is another one, to a twentieth of a percent."""
    low = 0.0
    for high in _STEPS:
        if turned(ground, item, sign * high):
            break
        low = high
    else:
        return None
    while high - low > _FINEST_FRACTION:
        middle = (low + high) / 2.0
        low, high = (low, middle) if turned(ground, item, sign * middle) else (middle, high)
    return high


def turned(ground: Ground, item: PlanInput, change_fraction: float) -> bool:
    """Whether the verdict is another one with one input off."""
    if ground.named is not None:
        return not fits(ground.frame, changed(ground, ground.named, item, change_fraction))
    near = (one for one in ground.candidates if heaviest(loads(*one.best)) <= _HOPELESS_LOAD)
    return any(fits(ground.frame, changed(ground, one, item, change_fraction)) for one in near)


def changed(ground: Ground, one: Candidate, item: PlanInput, change_fraction: float) -> Point:
    """A strategy at the best estimate with one input off: by whole users and tokens, up to the model's own limit."""
    plan, tokens, users = one.best
    factor = 1.0 + change_fraction
    whole = math.floor if change_fraction > 0.0 else math.ceil
    if item is USERS:
        return Point(plan, tokens, float(whole(round(users * factor, 6))))
    if item is CONTEXT:
        most = ground.frame.deployment.model.max_context_tokens or math.inf
        return Point(plan, float(min(whole(tokens * factor), most)), users)
    return Point(scaled_plan(plan, item, factor), tokens, users)


def _turn(ground: Ground, item: PlanInput, change_fraction: float) -> Turn:
    """What the verdict is then, by the contract's own order."""
    margin = ground.frame.deployment.objectives.margin_fraction
    working = []
    for one in ground.candidates:
        point = changed(ground, one, item, change_fraction)
        if fits(ground.frame, point):
            working.append(_at(one.item, point, loads(*point), margin))
    best = best_first(working)[0] if working else None
    bound = None
    if ground.named is not None:
        load = loads(*changed(ground, ground.named, item, change_fraction))
        bound = binding(load) if heaviest(load) > FULL else "hbm"
    return Turn(item.name, change_fraction, best.outcome if best else "no", best.id if best else None, bound)


def _at(item: StrategyAssessment, point: Point, load: Loads, margin_fraction: float) -> StrategyAssessment:
    """What ranking looks at, at one point."""
    word = OUTCOMES[outcome(load, load, load, margin_fraction)]
    plan, tokens, users = point
    itl_s = decode_step(plan, place(plan, tokens, users), tokens, users).itl_s
    return item._replace(outcome=word, decode_tokens_per_s=Interval.exact(users / itl_s))
