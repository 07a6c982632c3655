"""A change that was judged again."""

from typing import NamedTuple

from kvplan.domain.interval import Interval


class Remedy(NamedTuple):
    """One change that makes the workload fit (or, where ``works`` is false, its honest price)."""

    change: str
    strategy: str
    users_max: int
    itl_s: Interval | None
    works: bool = True
