"""What a strategy tells kvplan."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from kvplan.core.accounts import Placement
from kvplan.core.shapes import Charges
from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.engines.interface import KvKernel, MemoryPolicy

Ends = tuple[Charges, Charges, Charges]
"""Optimistic, best, pessimistic."""


class Situation(NamedTuple):
    """What a strategy may look at to say what it costs here."""

    deployment: Deployment
    policy: MemoryPolicy
    kernels: dict[str, KvKernel]


class Excuse(NamedTuple):
    """Why a strategy cannot be judged by its figures here: a value, not an exception."""

    outcome: str
    """``na``, ``no`` or ``unknown``."""
    bound_by: str
    sentence: str


class Accuracy(NamedTuple):
    """Published loss in points of a benchmark. None where no score was found: unknown, not zero."""

    low: float | None
    high: float | None
    on: str
    source: str

    def plus(self, other: "Accuracy") -> "Accuracy":
        """Both losses together, as if they added up."""
        parts = [part for part in (self, other) if part.high != 0.0]
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        on = " + ".join(part.on for part in parts) or self.on
        return Accuracy(low, high, on, "; ".join(part.source for part in parts) or self.source)


class Input(NamedTuple):
    """An uncertain input of a strategy's formula."""

    name: str
    value: Interval
    """Smallest, best and largest figure; the optimistic one is at whichever end costs less."""
    unit: str
    source: str


class Method(NamedTuple):
    """One published way to do what a strategy says: its constants, and the set-up in which they were found."""

    name: str
    """What ``--method`` takes."""
    title: str
    setup: str
    """Model, GPU, CPU, host memory and link of what was published; what of it is not known."""
    charges: Callable[[Situation], Ends]
    formula: tuple[str, ...]
    inputs: tuple[Input, ...]
    accuracy: Accuracy
    evidence: tuple[str, ...]
    source: str
    tested_from_tokens: int = 0
    """The shortest context with published scores: what is chosen is ever more of a shorter one, but fewer tokens."""
    tested_tokens: int | None = None
    """The longest context with published scores, where a longer one would lose more."""
    stock_engines: tuple[str, ...] = ()
    """Engines that have it; elsewhere it is a prototype of its authors."""
    cautions: tuple[str, ...] = ()
    reads_latents: bool = False
    """It also serves MLA, whose cache is one latent for all heads."""


class Strategy(Protocol):
    """One strategy. Adding one is adding a file."""

    id: str
    title: str
    order: int
    kv_suffix: str | None
    """The engine's KV kernel that it needs, or None for the checkpoint's own type."""
    second_pool: bool
    """It needs host memory apart from the GPU's."""
    accuracy: Accuracy
    formula: tuple[str, ...]
    inputs: tuple[Input, ...]
    evidence: tuple[str, ...]
    stock: bool
    """It is a feature of a stock engine, and not only of its authors' prototype."""
    listed: bool
    """It is judged without being named: what loses far more than others is not."""

    def excuse(self, situation: Situation) -> Excuse | None:
        """Why it can't be judged here, beyond a missing second pool, kernel or input; None where it can."""
        ...

    def charges(self, situation: Situation) -> Ends:
        """What it costs, three times."""
        ...

    def method(self, situation: Situation) -> Method | None:
        """The published method whose constants it takes here; None where it has one way only."""
        ...

    def proof(self, situation: Situation) -> tuple[str, ...]:
        """The evidence for what it charges here."""
        ...

    def loss(self, situation: Situation) -> Accuracy:
        """What it loses here: ``accuracy``, unless this engine does it another way."""
        ...

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        """Flags that switch it on in this engine; None where the engine has no such feature."""
        ...

    def notes(self, situation: Situation) -> tuple[str, ...]:
        """What a reader must know beside the figures."""
        ...


EXACT: Final = Accuracy(0.0, 0.0, "exact", "the cache holds the same numbers")

NO_SCORE: Final = Accuracy(None, None, "no task score found", "none")

RESIDENT: Final = Charges(
    resident_fraction=1.0,
    resident_tokens=0.0,
    read_fraction=1.0,
    read_tokens=0.0,
    link_fraction=0.0,
    link_tokens=0.0,
    cpu_fraction=0.0,
    cpu_tokens=0.0,
    dram_fraction=0.0,
    lookup_cores_per_gpu=0.0,
    sync_s_per_layer=0.0,
    serial_fraction=0.0,
    link_rate_fraction=1.0,
    cpu_rate_fraction=1.0,
    spills_kv=0.0,
    spilled_kv_on_cpu=0.0,
    spills_weights=0.0,
    spills_experts=0.0,
    spilled_weights_on_cpu=0.0,
    reuse=0.0,
    prefill_factor=1.0,
    kv_rate_fraction=1.0,
)
"""All KV in GPU memory, in the checkpoint's own type: what every other row of charges is a change of."""


class PlainStrategy:
    """Defaults of a strategy that leaves the KV type alone: exact, in a stock engine, in GPU memory, no flags.

    A strategy's file states only where it differs.
    """

    kv_suffix: str | None = None
    second_pool = False
    accuracy = EXACT
    inputs: tuple[Input, ...] = ()
    evidence: tuple[str, ...] = ()
    stock = True
    listed = True

    def excuse(self, situation: Situation) -> Excuse | None:
        """It can be judged everywhere."""
        return None

    def charges(self, situation: Situation) -> Ends:
        """All KV in GPU memory."""
        return same(RESIDENT)

    def method(self, situation: Situation) -> Method | None:
        """It has one way only."""
        return None

    def proof(self, situation: Situation) -> tuple[str, ...]:
        """The same everywhere."""
        return self.evidence

    def loss(self, situation: Situation) -> Accuracy:
        """As published, in every engine."""
        return self.accuracy

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        """Nothing to switch on; nothing to switch on it with where no stock engine has it."""
        return () if self.stock else None

    def notes(self, situation: Situation) -> tuple[str, ...]:
        """Nothing beside the figures."""
        return ()


def no_way_with_latents(situation: Situation) -> Excuse | None:
    """For methods that choose tokens head by head: nobody has published one for MLA's single latent."""
    if not any(layers.latent for layers in situation.deployment.model.kv):
        return None
    text = "no published method of this family attends to the one latent that MLA caches for all heads"
    return Excuse("unknown", "kernel", text)


_CHEAPER_HIGH: Final = {"link_rate_fraction", "cpu_rate_fraction"}
"""Charges of which more is better."""


def ends(**costs: Interval | float) -> Ends:
    """Three rows, optimistic first: each constant at the end of its interval that costs less, in the middle, more."""
    rows = []
    for end in (0, 1, 2):
        row = {}
        for name, cost in costs.items():
            span = cost if isinstance(cost, Interval) else Interval.exact(cost)
            row[name] = span[2 - end] if name in _CHEAPER_HIGH else span[end]
        rows.append(RESIDENT._replace(**row))
    low, best, high = rows
    return low, best, high


def same(charges: Charges) -> Ends:
    """Three equal rows, for a strategy with no uncertain input of its own."""
    return charges, charges, charges
