"""The best strategy of a deployment without judging all of them: what a search over deployments needs.

Strategies are tried in the order of the verdict, a level of accuracy loss at a time; only those whose best estimate is
inside every budget are judged in full.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from kvplan.assess import build_frame, chosen_strategies
from kvplan.assess.accuracy import accuracy_loss
from kvplan.assess.frame import Frame, plan_ends
from kvplan.assess.judge import find_excuse, judge
from kvplan.assess.longest import tokens_at_load
from kvplan.assess.verdict import best_first, typical_loss
from kvplan.core.verdicts import FULL, heaviest_at
from kvplan.domain.assessment import StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.strategies.interface import Strategy

_BEST = 1


def best_that_works(deployment: Deployment, strategy_ids: tuple[str, ...] = ()) -> StrategyAssessment | None:
    """The strategy that the verdict would name, if any works."""
    frame = build_frame(deployment)
    if frame.topology_excuse is not None:
        return None
    tight = None
    candidates = [(_loss(frame, strategy), strategy) for strategy in chosen_strategies(frame, strategy_ids)]
    for _, level in groupby(sorted(candidates, key=itemgetter(0)), key=itemgetter(0)):
        judged = [judge(frame, strategy, longest=False) for _, strategy in level if _inside(frame, strategy)]
        best = next((item for item in best_first(judged) if item.works), None)
        if best is not None and best.outcome == "fits":
            return best
        tight = tight or best
    return tight


def _loss(frame: Frame, strategy: Strategy) -> float:
    loss = accuracy_loss(frame, strategy)
    return typical_loss(loss.low, loss.high)


def _inside(frame: Frame, strategy: Strategy) -> bool:
    if find_excuse(frame, strategy) is not None:
        return False
    workload = frame.deployment.workload
    plan = plan_ends(frame, strategy)[_BEST]
    tokens = tokens_at_load(frame.deployment, frame.situation.policy).best
    return heaviest_at(plan, tokens, float(workload.users)) <= FULL
