"""The figures of a log, each beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass

from kvplan.assess import numbers
from kvplan.assess.frame import Frame
from kvplan.core.kv_cache import sequence_bytes
from kvplan.domain.assessment import GpuMemory
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import NATIVE_16_BIT
from kvplan.engine_logs.interface import EngineStart
from kvplan.units import gib

_ORDER = (
    "total_bytes", "budget_bytes", "weight_bytes", "activation_bytes", "runtime_bytes", "graph_estimate_bytes",
    "graph_bytes", "state_pool_bytes", "kv_pool_bytes", "kv_tokens", "kv_tokens_of_pool", "max_concurrency",
)  # fmt: skip


PRINTED_BYTES = gib(0.005)
"""Sizes are printed with two decimals of GiB."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure on the GPU with the smallest pool."""

    name: str
    unit: str
    """``bytes``, ``tokens`` or ``sequences``."""
    predicted: Interval | None
    """None where kvplan has no prediction of its own."""
    observed: float | None
    """None where the log does not print it."""

    @property
    def error_fraction(self) -> float | None:
        """(best prediction - observed) / observed."""
        if self.predicted is None or not self.observed:
            return None
        return (self.predicted.best - self.observed) / self.observed

    @property
    def inside(self) -> bool | None:
        """Whether the interval holds what was observed, give or take what printing rounds off."""
        if self.predicted is None or self.observed is None:
            return None
        slack = PRINTED_BYTES if self.unit == "bytes" else 0.5
        return self.predicted.low - slack <= self.observed <= self.predicted.high + slack


def figures_of(start: EngineStart, predicted: Frame | None, split: GpuMemory | None = None) -> tuple[Figure, ...]:
    """Everything that was printed or predicted, and of predictions those that this engine prints at all."""
    observed = dict(start.tightest.figures)
    blocks = observed.pop("kv_blocks", None)
    block_tokens = start.said.get("block_size")
    if blocks is not None and "kv_tokens" not in observed:
        observed["kv_tokens"] = blocks * (block_tokens if isinstance(block_tokens, int) else 16)
    observed.pop("free_bytes", None)
    expected = {} if predicted is None or split is None else _expected(start, predicted, split, observed)
    if "kv_tokens_of_pool" in expected:
        observed["kv_tokens_of_pool"] = observed["kv_tokens"]
    names = [name for name in _ORDER if name in observed or name in expected]
    return tuple(Figure(name, _unit(name), expected.get(name), observed.get(name)) for name in names)


def _unit(name: str) -> str:
    return "bytes" if name.endswith("_bytes") else "tokens" if name.startswith("kv_tokens") else "sequences"


def _expected(start: EngineStart, frame: Frame, split: GpuMemory, observed: dict[str, float]) -> dict[str, Interval]:
    """What kvplan says of the figures that this engine has."""
    policy, deployment = frame.situation.policy, frame.deployment
    assert deployment.host.gpu is not None
    found = {"weight_bytes": numbers.weight_bytes(deployment)}
    terms = {"activation_bytes": policy.activation, "runtime_bytes": policy.runtime,
             "graph_estimate_bytes": policy.graphs}  # fmt: skip
    found.update({name: term.bytes for name, term in terms.items() if term.bytes.high > 0.0})
    if start.engine != "sglang":
        found["total_bytes"] = deployment.host.gpu.hbm_bytes
    if start.engine in ("vllm", "sglang"):
        found["budget_bytes"] = policy.budget.bytes
    if start.engine == "llama.cpp":
        found["kv_pool_bytes"] = _cells(frame)
        return found
    found["kv_pool_bytes"] = split.kv_pool_bytes
    if split.kv_pool_tokens and split.kv_pool_bytes.best > 0.0:
        each = split.kv_pool_tokens / split.kv_pool_bytes.best
        found["kv_tokens"] = split.kv_pool_bytes.scaled(each)
        printed = 2.0 if start.engine == "sglang" else 1.0  # keys and values apart
        found.update(_tokens_of_pool(each, observed, printed * PRINTED_BYTES))
        if "max_concurrency" in observed and isinstance(start.said.get("max_model_len"), int):
            found["max_concurrency"] = found["kv_tokens"].scaled(1.0 / deployment.workload.context_tokens)
    return found


def _tokens_of_pool(tokens_per_byte: float, observed: dict[str, float], rounding: float) -> dict[str, Interval]:
    """Tokens that the printed pool holds: the layout of the cache alone, whatever the pool's size was."""
    pool = observed.get("kv_pool_bytes")
    if not pool or "kv_tokens" not in observed:
        return {}
    ends = Interval(max(pool - rounding, 0.0), pool, pool + rounding)
    return {"kv_tokens_of_pool": ends.scaled(tokens_per_byte)}


def _cells(frame: Frame) -> Interval:
    """llama.cpp sets up every slot's whole context."""
    deployment = frame.deployment
    kv_format = frame.resident_kernel.format if frame.resident_kernel else NATIVE_16_BIT
    growths = numbers.kv_growths(deployment.model, kv_format, deployment.layout, frame.situation.policy)
    one = sequence_bytes(growths, float(deployment.workload.context_tokens))
    return Interval.exact(one * deployment.workload.users)
