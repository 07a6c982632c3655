"""The slow way: one layer, head, token, block, byte unit and user at a time. An oracle that shares no code with kvplan.

Nothing here is clever, so that reading it is enough to believe it. It must not import ``kvplan.core``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product


@dataclass(frozen=True)
class Layer:
    """One attention layer."""

    heads: int
    key_elements: int
    value_elements: int
    window_tokens: int | None = None
    one_latent: bool = False
    """MLA: no heads to split, so that every rank keeps it."""


@dataclass(frozen=True)
class Storage:
    """How an engine lays KV out."""

    element_bytes: float = 2.0
    vector_bytes: float = 0.0
    block_tokens: int = 1
    tokens_in_flight: int = 0
    """What a windowed layer reserves beyond its window."""


def heads_on_rank(layer: Layer, ranks: int, rank: int) -> list[int]:
    """The KV heads that a rank of tensor parallelism keeps: its own share, or a copy of one."""
    if layer.one_latent:
        return list(range(layer.heads))
    if ranks >= layer.heads:
        return [rank * layer.heads // ranks]
    return [head for head in range(layer.heads) if head * ranks // layer.heads == rank]


def blocks_for(tokens: int, block_tokens: int) -> int:
    """Blocks that are opened while tokens come in one by one."""
    blocks, free = 0, 0
    for _ in range(tokens):
        if free == 0:
            blocks, free = blocks + 1, block_tokens
        free -= 1
    return blocks


def tokens_held(layer: Layer, tokens: int, storage: Storage) -> int:
    """Tokens of a sequence that a layer has room for."""
    if layer.window_tokens is None:
        return tokens
    oldest = tokens - layer.window_tokens - storage.tokens_in_flight
    return sum(1 for position in range(tokens) if position >= oldest)


def kv_bytes_of_sequence(layers: list[Layer], tokens: int, ranks: int, storage: Storage) -> float:
    """Bytes on the fullest rank."""
    fullest = 0.0
    for rank in range(ranks):
        total = 0.0
        for layer in layers:
            slots = blocks_for(tokens_held(layer, tokens, storage), storage.block_tokens) * storage.block_tokens
            for _ in heads_on_rank(layer, ranks, rank):
                for _ in range(slots):
                    for elements in (layer.key_elements, layer.value_elements):
                        if elements:
                            total += elements * storage.element_bytes + storage.vector_bytes
        fullest = max(fullest, total)
    return fullest


def expected_share_of_experts(experts: int, experts_per_token: int, tokens: int) -> Fraction:
    """Share of the experts that a step reads, over every way in which its tokens can choose."""
    choices = list(combinations(range(experts), experts_per_token))
    ways = 0
    read = 0
    for chosen in product(choices, repeat=tokens):
        ways += 1
        read += len({expert for choice in chosen for expert in choice})
    return Fraction(read, ways * experts)


def sequences_on_fullest_replica(users: int, replicas: int) -> int:
    """Users dealt out one by one."""
    dealt = [0] * replicas
    for user in range(users):
        dealt[user % replicas] += 1
    return max(dealt)


@dataclass
class Pool:
    """One GPU's memory, in units that are moved one at a time."""

    limit: int
    overhead: int
    weights: int
    kv: int
    weights_in_dram: int = 0
    kv_in_dram: int = 0
    buffer_share: float = 0.0
    """HBM that each streamed unit of KV still takes on its way through."""

    @property
    def used(self) -> float:
        return self.overhead + self.weights + self.kv + self.buffer_share * self.kv_in_dram

    def spill(self, *, weights: bool, kv: bool, kv_floor: int = 0) -> Pool:
        """Move weights out until all fits, then KV; each only where it may move. ``kv_floor`` stays (windows)."""
        while self.used > self.limit and weights and self.weights > 0:
            self.weights, self.weights_in_dram = self.weights - 1, self.weights_in_dram + 1
        while self.used > self.limit and kv and self.kv > kv_floor:
            self.kv, self.kv_in_dram = self.kv - 1, self.kv_in_dram + 1
        return self


@dataclass(frozen=True)
class Machine:
    """Rates and times of one GPU and its link."""

    weight_bytes_per_s: float
    kv_bytes_per_s: float
    flops: float
    overhead_s: float
    link_bytes_per_s: float = 1.0
    all_reduces: int = 0
    all_reduce_s: float = 0.0
    all_reduce_bytes: float = 0.0
    """Of one token, over all calls."""
    peer_bytes_per_s: float = 1.0


@dataclass(frozen=True)
class Work:
    """What a decode step must do."""

    weight_bytes: float
    elements: float
    """Weights that one token multiplies with."""
    kv_bytes_read: list[float]
    """Of every sequence."""
    link_bytes: float = 0.0
    serial_fraction: float = 0.0


def step_s(machine: Machine, work: Work) -> float:
    """Time of one step: everything added up, the link beside the GPU."""
    reading = work.weight_bytes / machine.weight_bytes_per_s
    multiplying = 0.0
    for _ in work.kv_bytes_read:
        multiplying += 2 * work.elements / machine.flops
    gpu_s = max(reading, multiplying)
    for kv_bytes in work.kv_bytes_read:
        gpu_s += kv_bytes / machine.kv_bytes_per_s
    total = machine.overhead_s
    for _ in range(machine.all_reduces):
        total += machine.all_reduce_s
        for _ in work.kv_bytes_read:
            total += machine.all_reduce_bytes / machine.all_reduces / machine.peer_bytes_per_s
    link_s = work.link_bytes / machine.link_bytes_per_s
    longer, shorter = (gpu_s, link_s) if gpu_s > link_s else (link_s, gpu_s)
    return total + longer + work.serial_fraction * shorter


def most_users(machine: Machine, pool: Pool, kv_bytes: int, objective_s: float, work: Work) -> int:
    """Users added one by one until memory or the objective says no."""
    users = 0
    while True:
        tried = users + 1
        used = pool.overhead + pool.weights + tried * kv_bytes
        one_more = Work(work.weight_bytes, work.elements, [float(kv_bytes)] * tried)
        if used > pool.limit or step_s(machine, one_more) > objective_s:
            return users
        users = tried
