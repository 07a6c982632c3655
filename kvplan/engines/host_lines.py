"""What an engine says of the host: cores that its processes keep busy, and its pool of idle KV in host memory."""

from typing import NamedTuple

from kvplan.domain.interval import Interval


class CoreLine(NamedTuple):
    """Cores that processes of one kind keep busy, one deployment."""

    name: str
    cores: float
    formula: str
    source: str


class HostPool(NamedTuple):
    """How an engine keeps idle KV, and weights, in host memory, one deployment, all ranks together."""

    formula: str = ""
    source: str = ""
    told_bytes: Interval = Interval(0.0, 0.0, 0.0)
    """What it takes of host memory for the size that it is told; 0: it is not told."""
    rounding: Interval = Interval(1.0, 1.0, 1.0)
    """What it takes for every byte of a size that is chosen to hold the sessions."""
    least_bytes: Interval = Interval(0.0, 0.0, 0.0)
    """The smallest pool with which it starts."""
    pinned_weights: Interval = Interval(1.0, 1.0, 1.0)
    """Host memory for every byte of weights that it keeps there."""
    limits: tuple[str, ...] = ()
    """Limits of the system that it meets, and that kvplan does not know here."""


def busy_cores(lines: tuple[CoreLine, ...]) -> float:
    """What the processes of one deployment keep busy together."""
    return sum((line.cores for line in lines), 0.0)
