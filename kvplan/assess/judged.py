"""What the core said of one strategy, with what it was asked about."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.core.accounts import Demand, Loads, Placement
from kvplan.core.shapes import Plan
from kvplan.domain.deployment import Deployment
from kvplan.engines.interface import MemoryPolicy
from kvplan.strategies.interface import Strategy


class Judged(NamedTuple):
    """One strategy's numbers as they came out of the core."""

    deployment: Deployment
    policy: MemoryPolicy
    strategy: Strategy
    ends: tuple[Plan, Plan, Plan]
    loads: tuple[Loads, Loads, Loads]
    placed: Placement
    demand: Demand
    cautious: Placement
    """At the pessimistic end: what a command must make room for."""
