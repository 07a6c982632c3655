"""How an engine itself lays out and counts a KV pool: what it would print for one of so many bytes."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.engines.interface import KvKernel


class KvQuestion(NamedTuple):
    """What an engine is asked. The deployment's context is the length of one sequence (``--max-model-len``)."""

    deployment: Deployment
    kernel: KvKernel | None
    """The KV type that ``--kv-cache-dtype`` chose; None: the model's own 16 bits."""
    pool_bytes: float | None
    """Bytes for KV on each GPU; None: only the layout is asked for."""


class LayerBytes(NamedTuple):
    """One kind of layer on one GPU, all its layers together, as the engine stores it."""

    kind: str
    layers: int
    bytes_per_token: float
    """Of a token inside its window."""
    window_tokens: int | None
    bytes_per_sequence: float
    """At the deployment's context, as reserved."""


class PoolCount(NamedTuple):
    """A pool in the engine's own words."""

    blocks: int
    tokens: int
    max_concurrency: float | None
    """Sequences of the deployment's context at once; None where the engine prints no such number."""
    log_line: str
    """The very line, lines joined by a newline."""


class KvLayout(NamedTuple):
    """The answer. Bytes are per GPU."""

    kv_cache_dtype: str
    block_tokens: int
    bytes_per_token: float
    """One more token once every window is full."""
    fixed_bytes_per_sequence: float
    """States and full windows."""
    bytes_per_sequence: float
    """At the deployment's context, as the engine reserves it."""
    layers: tuple[LayerBytes, ...]
    pool: PoolCount | None
    notes: tuple[str, ...] = ()
    """Rules that were taken where sources disagree, and what is not calibrated."""
