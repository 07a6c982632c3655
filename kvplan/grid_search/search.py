"""The grid: one frame and one set of plans for every context, the compiled core along the users, then the winners."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kvplan.assess import assess, build_frame
from kvplan.assess.accuracy import accuracy_loss, too_lossy
from kvplan.assess.frame import Frame, plan_ends
from kvplan.assess.judge import binding, find_excuse, has_no_place
from kvplan.assess.verdict import best_first, closest
from kvplan.core.accounts import Loads
from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import heaviest, loads
from kvplan.domain.assessment import OUTCOMES, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.strategies import find_strategy
from kvplan.strategies.interface import Excuse

Ends = tuple[Plan, Plan, Plan]
DeploymentAt = Callable[[int, int], Deployment]
"""(context_tokens, users) -> what is deployed at that point."""


class Point(NamedTuple):
    """The verdict at one context and one number of users."""

    outcome: str
    strategy: str | None
    """The winner; None where nothing fits."""
    bound_by: str | None
    """What binds the closest strategy where nothing fits."""
    itl_s: float | None
    """The winner's time per token, best estimate."""


class StrategyRow(NamedTuple):
    """One strategy at one context; a value for every number of users."""

    outcomes: tuple[str, ...]
    itl_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Frontier:
    """Who wins where."""

    deployment: Deployment
    """At the first point."""
    contexts: tuple[int, ...]
    users: tuple[int, ...]
    strategies: tuple[str, ...]
    rows: tuple[tuple[StrategyRow, ...], ...]
    """By context, then by strategy."""
    points: tuple[tuple[Point, ...], ...]
    """By context, then by users."""

    def each_point(self) -> Iterator[tuple[int, int, Point]]:
        """(context_tokens, users, verdict), in the order of the axes."""
        for context, row in zip(self.contexts, self.points, strict=True):
            for users, point in zip(self.users, row, strict=True):
                yield context, users, point


@dataclass(frozen=True, slots=True)
class _Judged:
    """One strategy at one context and some numbers of users, as it came out of the compiled core."""

    template: StrategyAssessment
    """The same strategy at the first point, with the accuracy loss of this context: what else ranks is judged anew."""
    excuse: Excuse | None
    ends: Ends | None
    """None where figures cannot judge it."""
    outcomes: tuple[str, ...]
    itl_s: tuple[float | None, ...]
    optimistic: tuple[Loads, ...]
    """Empty where figures cannot judge it."""


def search(at: DeploymentAt, contexts: tuple[int, ...], users: tuple[int, ...], only: tuple[str, ...] = ()) -> Frontier:
    """Judge the strategies named, or all that make sense here, at every point."""
    first = assess(at(contexts[0], users[0]), only)
    rows: list[tuple[StrategyRow, ...]] = []
    points: list[tuple[Point, ...]] = []
    for context in contexts:
        judged_row: list[list[_Judged]] = []
        verdicts: list[Point] = []
        for frame, batch in _frames(at, context, users, first.strategies):
            judged = [_judge(frame, template, context, batch) for template in first.strategies]
            verdicts += [_verdict(judged, context, count, index) for index, count in enumerate(batch)]
            judged_row.append(judged)
        rows.append(tuple(_joined(parts) for parts in zip(*judged_row, strict=True)))
        points.append(tuple(verdicts))
    ids = tuple(item.id for item in first.strategies)
    return Frontier(first.deployment, contexts, users, ids, tuple(rows), tuple(points))


def _frames(
    at: DeploymentAt, context: int, users: tuple[int, ...], templates: Iterable[StrategyAssessment]
) -> Iterator[tuple[Frame, tuple[int, ...]]]:
    """The frames of one context, each with the users that share it.

    Plans follow the context (the prompt's share of it, llama.cpp's compute buffer). Whether they follow the users as
    well is asked of both ends of the axis; if they do, every point gets a frame of its own.
    """
    low, high = build_frame(at(context, users[0])), build_frame(at(context, users[-1]))
    if all(_plans(low, item) == _plans(high, item) for item in templates):
        yield low, users
        return
    for count in users:
        yield build_frame(at(context, count)), (count,)


def _plans(frame: Frame, template: StrategyAssessment) -> Ends | Excuse:
    strategy = find_strategy(template.id)
    return find_excuse(frame, strategy) or plan_ends(frame, strategy)


def _judge(frame: Frame, template: StrategyAssessment, context: int, users: tuple[int, ...]) -> _Judged:
    import numpy as np

    from kvplan.compiled import judge_grid

    template = template._replace(accuracy=accuracy_loss(frame, find_strategy(template.id)))
    plans = _plans(frame, template)
    if isinstance(plans, Excuse):
        return _Judged(template, plans, None, (plans.outcome,) * len(users), (None,) * len(users), ())
    counts = np.array(users, dtype=np.float64)
    margin_fraction = frame.deployment.objectives.margin_fraction
    grid = judge_grid(plans, margin_fraction, np.array([context], dtype=np.float64), counts)
    outcomes = tuple(OUTCOMES[code] for code in grid.outcomes[0].tolist())
    if too_lossy(frame.deployment.task, template.accuracy):
        outcomes = tuple("tight" if outcome == "fits" else outcome for outcome in outcomes)
    excuse = frame.topology_excuse
    if excuse is not None:
        outcomes = (excuse.outcome,) * len(users)
    optimistic = tuple(Loads(*values) for values in grid.optimistic[0].tolist())
    pairs = zip(grid.itl_s[0].tolist(), optimistic, strict=True)
    itl_s = tuple(None if has_no_place(load) else seconds for seconds, load in pairs)
    return _Judged(template, excuse, plans, outcomes, itl_s, optimistic)


def _joined(parts: tuple[_Judged, ...]) -> StrategyRow:
    return StrategyRow(
        tuple(outcome for part in parts for outcome in part.outcomes),
        tuple(itl_s for part in parts for itl_s in part.itl_s),
    )


def _verdict(judged: list[_Judged], context: int, users: int, index: int) -> Point:
    """The contract's order, by the very functions that rank a single ``fit``."""
    working = [item for item in judged if item.outcomes[index] in ("fits", "tight")]
    if working:
        best = best_first(_assessed(item, users, index) for item in working)[0]
        return Point(best.outcome, best.id, None, best.itl_s.best if best.itl_s else None)
    every = {item.template.id: _assessed(item, users, index) for item in judged}
    near = closest(every.values())
    unknown = next((item for item in every.values() if item.outcome == "unknown"), None)
    found = next((item for item in judged if near and item.template.id == near.id), None)
    if unknown is not None and (found is None or found.ends is None):
        return Point("unknown", None, unknown.bound_by, None)
    if near is None or found is None:
        return Point("na", None, best_first(every.values())[0].bound_by, None)
    if near.bound_by is not None:
        return Point(near.outcome, None, near.bound_by, None)
    assert found.ends is not None  # only an excuse leaves them out, and an excuse says what binds
    load = found.optimistic[index] if near.outcome == "no" else loads(found.ends[1], float(context), float(users))
    return Point(near.outcome, None, binding(load), None)


def _assessed(item: _Judged, users: int, index: int) -> StrategyAssessment:
    """What ranking looks at, at one point. What binds is left out unless it is an excuse: it is seldom needed."""
    itl_s = item.itl_s[index]
    return item.template._replace(
        outcome=item.outcomes[index],
        bound_by=item.excuse.bound_by if item.excuse else None,
        kv_bytes_per_token=growing_bytes_per_token(item.ends[1].kv) if item.ends else None,
        itl_s=None if itl_s is None else Interval.exact(itl_s),
        decode_tokens_per_s=None if itl_s is None else Interval.exact(users / itl_s),
        overload=heaviest(item.optimistic[index]) if item.optimistic else 0.0,
    )
