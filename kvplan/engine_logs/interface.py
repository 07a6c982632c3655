"""What a start-up log says, and what a format of logs must know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

Value = str | int | float | bool

FIGURES = (
    "total_bytes",
    "free_bytes",
    "budget_bytes",
    "weight_bytes",
    "activation_bytes",
    "runtime_bytes",
    "graph_estimate_bytes",
    "graph_bytes",
    "state_pool_bytes",
    "kv_pool_bytes",
    "kv_tokens",
    "kv_blocks",
    "max_concurrency",
)
"""Of one GPU. ``free_bytes``: before the weights; ``graph_estimate_bytes``: what was set aside for CUDA graphs,
``graph_bytes``: what they took; ``kv_tokens`` ...: as printed."""


class LogLine(NamedTuple):
    """One cleaned line."""

    rank: str
    """``TP0``; empty where the line names no rank."""
    text: str


class Rank(NamedTuple):
    """What one GPU's process said, of FIGURES."""

    name: str
    figures: Mapping[str, float]


class EngineStart(NamedTuple):
    """One start of one engine."""

    engine: str
    version: str | None
    """Release numbers alone; None where the log does not name it."""
    said: Mapping[str, Value]
    """Settings under the names of flags with underscores (``tp``, ``max_num_seqs``), and ``gpu``, the device's name."""
    ranks: tuple[Rank, ...]
    recognised: int
    """Lines that said something."""
    complete: bool
    """The KV cache was set up."""

    @property
    def tightest(self) -> Rank:
        """The rank with the smallest pool: its blocks are what all ranks use. Without pools, the one with most weights.

        Source: vLLM, SGLang and TensorRT-LLM take the minimum over the ranks.
        """
        return min(self.ranks, key=_room, default=Rank("", {}))


class EngineLog(NamedTuple):
    """The start that counts, out of all that the log holds."""

    start: EngineStart
    starts: int
    notes: tuple[str, ...] = ()


class Draft:
    """One start while its lines are read: every value of every figure, in the order of the log."""

    def __init__(self) -> None:
        self.said: dict[str, Value] = {}
        self.version: str | None = None
        self.values: dict[str, dict[str, list[float]]] = {}
        """Rank -> figure -> values."""
        self.marks: set[str] = set()
        """What a format wants to remember of the lines before."""
        self.recognised = 0

    def add(self, rank: str, figure: str, value: float) -> None:
        """One printed value."""
        self.values.setdefault(rank, {}).setdefault(figure, []).append(value)

    def has(self, figure: str) -> bool:
        """Whether any rank said it."""
        return any(figure in figures for figures in self.values.values())


class LogFormat(Protocol):
    """One engine's logs. Adding one is adding a file with an object that has these."""

    engine: str
    looked_for: tuple[str, ...]
    """Words of the lines that say most, for people whose log has none of them."""
    keywords: tuple[str, ...]
    """A line without any of them says nothing."""
    rank_pattern: re.Pattern[str]
    """Groups of a line's prefix that name its rank."""
    figure_patterns: tuple[re.Pattern[str], ...]
    """Named groups: a figure with its unit (``weight_gib``, ``kv_pool_mib``, ``kv_tokens``), and ``rank``."""

    def opens(self, line: LogLine, draft: Draft) -> bool:
        """Whether this line is the first of another start than the one of ``draft``."""
        ...

    def read(self, line: LogLine, draft: Draft) -> bool:
        """Settings and the version that the line names; whether it named any."""
        ...

    def finish(self, draft: Draft) -> tuple[Rank, ...]:
        """The figures of each rank, what is a sum or a difference of printed ones included."""
        ...


def _room(rank: Rank) -> tuple[float, float]:
    pool = rank.figures.get("kv_pool_bytes", float("inf"))
    return pool, -rank.figures.get("weight_bytes", 0.0)
