"""What came out of judging one deployment: every figure of one plan, strategy by strategy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval

OUTCOMES = ("fits", "tight", "unlikely", "no", "na", "unknown")
"""From best to worst; the first four are in the order of the core's outcome codes."""

RESOURCES = ("hbm", "dram_capacity", "dram_bandwidth", "link", "cpu_cores")
"""The budgets, in the order in which they are shown."""


class Part(NamedTuple):
    """One line of a budget, at the best estimate."""

    name: str
    value: float
    formula: str
    source: str


class Budget(NamedTuple):
    """One of the four resources (DRAM counts twice: capacity and rate). HBM and link are per GPU."""

    name: str
    used: Interval | None
    """Bytes, bytes per second or cores at the ITL objective; None where an input is not known."""
    limit: float | None
    parts: tuple[Part, ...] = ()

    @property
    def load(self) -> float:
        """Used over limit at the best estimate; 0 where either is not known."""
        return self.used.best / self.limit if self.used and self.limit else 0.0


class AccuracyLoss(NamedTuple):
    """Points lost on a published benchmark; None: no score was found."""

    low: float | None
    high: float | None
    on: str
    source: str
    task: str | None = None
    """The class of task that was asked about; None: whatever was published."""


class BreakEven(NamedTuple):
    """Where KV kept in host memory pays. None: nowhere."""

    reload_tokens: Interval | None
    """Cached tokens from which a reload gives the first token sooner than computing them."""
    hit_fraction: Interval | None
    """Share of prompt tokens found in host memory above which prefill throughput gains."""


class RequestAlone(NamedTuple):
    """The longest request of a workload of many lengths, with a replica to itself."""

    outcome: str
    hbm_bytes: Interval
    """All that the GPU holds then."""
    bound_by: str | None = None
    """The memory that it fills; None where it fits."""


class StrategyAssessment(NamedTuple):
    """One strategy on one host: outcome, what binds, and every figure behind it."""

    id: str
    title: str
    outcome: str
    bound_by: str | None
    reason: str
    """One sentence: why not, or what the figures say."""
    kv_bytes_per_token: float | None
    budgets: dict[str, Budget]
    users_max: Interval | None
    context_tokens_max: Interval | None
    itl_s: Interval | None
    ttft_s: Interval | None
    decode_tokens_per_s: Interval | None
    accuracy: AccuracyLoss
    flags: str | None
    """The command to paste; None where the engine has no such feature."""
    overload: float = 0.0
    """How far over its tightest limit the optimistic end is: 1.0 is exactly at it."""
    method: str | None = None
    """The published method whose constants were taken; None for a strategy that has one way only."""
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    longest_request: RequestAlone | None = None
    """None where all sequences are equally long."""
    break_even: BreakEven | None = None
    """Of strategies that reload KV."""

    @property
    def works(self) -> bool:
        return self.outcome in ("fits", "tight")


class GpuMemory(NamedTuple):
    """How one GPU is split, for the engine's own KV type."""

    total_bytes: float
    budget_bytes: float
    weight_bytes: float
    activation_bytes: float
    runtime_bytes: float
    graph_bytes: float
    kv_pool_bytes: Interval
    kv_pool_tokens: int | None
    """None for a model whose cache does not grow."""
    terms: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Name -> (formula, source)."""
    pool_levers: tuple[tuple[str, float], ...] = ()
    """(flag, bytes that it gives the KV pool): settings of the engine that cost KV."""
    calibration: str | None = None
    """Name of the calibration that some of it was taken from."""


class Verdict(NamedTuple):
    """The answer."""

    outcome: str
    strategy: str | None
    bound_by: str | None
    sentence: str


class Assessment(NamedTuple):
    """Everything about one deployment."""

    deployment: Deployment
    gpu_memory: GpuMemory
    strategies: tuple[StrategyAssessment, ...]
    verdict: Verdict
    not_modelled: tuple[str, ...]
    warnings: tuple[str, ...]

    def strategy(self, strategy_id: str) -> StrategyAssessment:
        """The assessment of one strategy by id."""
        return next(item for item in self.strategies if item.id == strategy_id)
