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
    reserve_tokens: int = 0
    """What a windowed layer keeps beyond its window, for every sequence."""
    chunk_tokens: int = 0
    """Tokens that one step may prefill: windowed layers hold them as well, once."""
    window_share: float = 0.0
    """Above 0: a window is never freed, and its layer keeps this share of every token."""


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


def slots_held(layer: Layer, tokens: int, storage: Storage) -> int:
    """Tokens that there is room for in the blocks a sequence has a hold of, at its worst moment while it grows."""
    if layer.window_tokens is None or storage.window_share:
        return blocks_for(tokens, storage.block_tokens) * storage.block_tokens
    most = 0
    for length in range(1, tokens + 1):
        oldest = max(0, length - layer.window_tokens - storage.reserve_tokens)
        touched = {position // storage.block_tokens for position in range(oldest, length)}
        most = max(most, len(touched))
    return most * storage.block_tokens


def token_bytes(layer: Layer, heads: list[int], storage: Storage) -> float:
    """One token in one layer on one rank."""
    total = 0.0
    for _ in heads:
        for elements in (layer.key_elements, layer.value_elements):
            if elements:
                total += elements * storage.element_bytes + storage.vector_bytes
    return total * storage.window_share if layer.window_tokens and storage.window_share else total


def kv_bytes_of_sequence(layers: list[Layer], tokens: int, ranks: int, storage: Storage) -> float:
    """Bytes on the fullest rank."""
    fullest = 0.0
    for rank in range(ranks):
        total = 0.0
        for layer in layers:
            for _ in range(slots_held(layer, tokens, storage)):
                total += token_bytes(layer, heads_on_rank(layer, ranks, rank), storage)
        fullest = max(fullest, total)
    return fullest


def kv_bytes_in_flight(layers: list[Layer], lengths: list[int], ranks: int, storage: Storage) -> float:
    """Bytes of the largest prefill step on the fullest rank: what prompts have beyond their windows fills it token by
    token until it is full."""
    fullest = 0.0
    for rank in range(ranks):
        total = 0.0
        for layer in layers:
            if layer.window_tokens is None or storage.window_share:
                continue
            taken = 0
            for length in lengths:
                for _ in range(length - slots_held(layer, length, storage)):
                    if taken < storage.chunk_tokens:
                        taken += 1
                        total += token_bytes(layer, heads_on_rank(layer, ranks, rank), storage)
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

    limit: float
    """What spills stops here: the margin below it is somebody else's."""
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


def move_experts(pool: Pool, layer_bytes: int, layers: int) -> int:
    """Take the experts of one layer out of HBM, then those of the others byte by byte until all fits."""
    moved = 0
    while moved < layers * layer_bytes and (moved < layer_bytes or pool.used > pool.limit):
        pool.weights, pool.weights_in_dram, moved = pool.weights - 1, pool.weights_in_dram + 1, moved + 1
    return moved


def buffer_share(layers: int, stages: int) -> Fraction:
    """Part of the streamed KV that is in HBM at any time: two of a GPU's own layers, but never more than half."""
    own_layers = Fraction(layers, stages)
    return min(Fraction(2) / own_layers, Fraction(1, 2))


@dataclass(frozen=True)
class Machine:
    """Rates and times of one GPU and its link, and of the CPU that all GPUs share."""

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
    expert_layer_s: float = 0.0
    first_token_s: float = 0.0
    gpus: int = 1
    cores: float = 1.0
    core_kv_bytes_per_s: float = 1.0
    core_weight_bytes_per_s: float = 1.0
    dram_bytes_per_s: float = 1.0
    kv_share_of_dram: float = 1.0
    weight_share_of_dram: float = 1.0


@dataclass(frozen=True)
class Work:
    """What a decode step must do on one GPU: its own stage, its own heads."""

    weight_bytes: float
    """Those in HBM."""
    elements: float
    """Weights that one token multiplies with."""
    kv_bytes_read: list[float]
    """Of every sequence."""
    link_bytes: float = 0.0
    serial_fraction: float = 0.0
    stages: int = 1
    pairs: list[float] | None = None
    """Cached tokens that every sequence attends to, if their arithmetic counts."""
    pair_flops: float = 0.0
    link_weight_bytes: float = 0.0
    cpu_kv_bytes: float = 0.0
    """Of all sequences."""
    cpu_weight_bytes: float = 0.0
    layers: int = 0
    sync_s: float = 0.0
    """Of every layer of the model, on whichever GPU."""
    expert_layers: int = 0


def turns_waited(stages: int, sequences: int) -> Fraction:
    """What share of all sequences' KV work a token waits for, summed over the stages it passes.

    Sequences go round in as many groups as there are stages to keep busy, at most one group for each. A token waits at
    every stage for its own group, while the other stages work for the other groups.
    """
    groups = 0
    for _ in range(stages):
        if groups < sequences:
            groups += 1
    waited = Fraction(0)
    for _ in range(stages):
        waited += Fraction(1, groups)
    return waited


def cpu_s(machine: Machine, work: Work) -> float:
    """What the cores need: the KV of every GPU, then the weights of every GPU, each at its own rate."""
    rates = []
    for one_core, share in (
        (machine.core_kv_bytes_per_s, machine.kv_share_of_dram),
        (machine.core_weight_bytes_per_s, machine.weight_share_of_dram),
    ):
        cores_alone, dram = machine.cores * one_core, share * machine.dram_bytes_per_s
        rates.append(cores_alone if cores_alone < dram else dram)
    total = 0.0
    for _ in range(machine.gpus):
        total += work.cpu_kv_bytes / rates[0]
        total += work.cpu_weight_bytes / rates[1]
    return total


def gpu_s(machine: Machine, work: Work) -> float:
    """What the GPUs that a token passes need for it: every stage's weights, and its group's KV at every stage."""
    sequences = len(work.kv_bytes_read)
    reading = work.weight_bytes / machine.weight_bytes_per_s
    multiplying = 0.0
    for _ in range(sequences):
        multiplying += 2 * work.elements / machine.flops
    weights = 0.0
    for _ in range(work.stages):
        weights += max(reading, multiplying)
    share = float(turns_waited(work.stages, sequences))
    attending_memory = attending_arithmetic = 0.0
    for kv_bytes in work.kv_bytes_read:
        attending_memory += share * kv_bytes / machine.kv_bytes_per_s
    for pairs in work.pairs or []:
        attending_arithmetic += share * pairs * work.pair_flops / machine.flops
    return weights + max(attending_memory, attending_arithmetic)


def step_s(machine: Machine, work: Work) -> float:
    """Time of one step: everything added up, the link and the CPU beside the GPU and beside one another."""
    total = machine.overhead_s
    for _ in range(work.layers):
        total += work.sync_s
    for _ in range(work.expert_layers):
        total += machine.expert_layer_s
    for _ in range(machine.all_reduces):
        total += machine.all_reduce_s
        for _ in work.kv_bytes_read:
            total += machine.all_reduce_bytes / machine.all_reduces / machine.peer_bytes_per_s
    link_bytes = work.link_bytes * float(turns_waited(work.stages, len(work.kv_bytes_read)))
    for _ in range(work.stages):
        link_bytes += work.link_weight_bytes
    side_s = max(link_bytes / machine.link_bytes_per_s, cpu_s(machine, work))
    on_gpu_s = gpu_s(machine, work)
    longer, shorter = (on_gpu_s, side_s) if on_gpu_s > side_s else (side_s, on_gpu_s)
    return total + longer + work.serial_fraction * shorter


@dataclass(frozen=True)
class Prompt:
    """One request before its first token."""

    tokens: int
    known_tokens: int = 0
    """How many of them, from the first on, lie in host memory."""
    shared_tokens: int = 0
    """How many, from the first on, others have in HBM already."""
    kv_token_bytes: float = 0.0
    block_tokens: int = 1
    reload_s: float = 0.0
    chunk_tokens: int = 1
    spilled_bytes: float = 0.0
    """Weights in host memory."""
    prefill_factor: float = 1.0


def dealt(prompt: Prompt) -> tuple[int, int, int]:
    """Tokens that are there, are copied in, are computed: one by one. The last one at least is computed."""
    present = reloaded = computed = 0
    for position in range(prompt.tokens):
        if position < prompt.shared_tokens:
            present += 1
        elif position < prompt.known_tokens:
            reloaded += 1
        else:
            computed += 1
    return present, reloaded, max(computed, 1)


def computing_s(machine: Machine, work: Work, prompt: Prompt) -> float:
    """Every new token multiplies with the weights and attends to all before it; every stage waits for the last."""
    present, reloaded, computed = dealt(prompt)
    arithmetic = 0.0
    for earlier in range(computed):
        attended = present + reloaded + earlier + 0.5
        arithmetic += (2 * work.elements + attended * work.pair_flops) / machine.flops
    total = 0.0
    for _ in range(work.stages):
        total += prompt.prefill_factor * max(arithmetic, work.weight_bytes / machine.weight_bytes_per_s)
    return total


def first_token_s(machine: Machine, work: Work, prompt: Prompt) -> float:
    """What is copied in, what is computed, the weights that every pass fetches, and what any request takes."""
    _, reloaded, computed = dealt(prompt)
    total = machine.overhead_s + machine.first_token_s + computing_s(machine, work, prompt)
    if reloaded:
        total += prompt.reload_s
    for _ in range(blocks_for(reloaded, prompt.block_tokens) * prompt.block_tokens):
        total += prompt.kv_token_bytes / machine.link_bytes_per_s
    for _ in range(blocks_for(computed, prompt.chunk_tokens)):
        for _ in range(work.stages):
            total += prompt.spilled_bytes / machine.link_bytes_per_s
    for _ in range(work.expert_layers):
        total += machine.expert_layer_s
    for _ in range(machine.all_reduces):
        total += machine.all_reduce_s
        for _ in range(computed):
            total += machine.all_reduce_bytes / machine.all_reduces / machine.peer_bytes_per_s
    return total


def idle_kv_bytes(sequence_bytes: float, prefix_bytes: float, ranks: int, sessions: int, users: int) -> float:
    """Host memory of KV that comes back: every session's and every user's, on each rank, and the prefix they share."""
    total = 0.0
    for _ in range(ranks):
        kept = 0
        while kept < sessions or kept < users:
            kept += 1
            total += sequence_bytes
        total += prefix_bytes
    return total


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


@dataclass(frozen=True)
class PooledLayer:
    """One layer as a paged engine sees it. ``keeps`` is ``all``, ``window``, ``chunk`` or ``state``."""

    kind: int
    """Layers of one kind are alike."""
    keeps: str
    token_bytes: int
    """Of a state: the bytes of all of it."""
    window_tokens: int = 0
    state_blocks: int = 0


@dataclass(frozen=True)
class Accounting:
    """What an engine's version does, and what it is told."""

    block_tokens: int
    joins_within: Fraction
    batch_tokens: int
    longest_tokens: int
    rounds_each_group: bool
    counts_blocks: bool


@dataclass(frozen=True)
class BlockTable:
    """A group of layers that share a block table."""

    layers: tuple[PooledLayer, ...]
    block_tokens: int


def page_bytes(layer: PooledLayer, tokens: int) -> int:
    """Bytes of one block of one layer, token by token; a state has the bytes of its state."""
    if layer.keeps == "state":
        return layer.token_bytes
    return sum(layer.token_bytes for _ in range(tokens))


def block_over_states(layers: list[PooledLayer], start: int) -> int:
    """The shortest block, in steps of ``start``, in which a page of attention is at least a state."""
    states = [layer.token_bytes for layer in layers if layer.keeps == "state"]
    attention = [layer for layer in layers if layer.keeps != "state"]
    tokens = start
    while states and attention and max(page_bytes(layer, tokens) for layer in attention) < max(states):
        tokens += start
    return tokens


def lengthened(layer: PooledLayer, start: int, wanted_bytes: int) -> int | None:
    """The block of a layer whose page is as large as the largest; None where no whole block is."""
    tokens = start
    while page_bytes(layer, tokens) < wanted_bytes:
        tokens += start
    return tokens if page_bytes(layer, tokens) == wanted_bytes else None


def block_tables(layers: list[PooledLayer], accounting: Accounting) -> tuple[list[BlockTable], int] | None:
    """Layers dealt out to groups of one number of layers, and the bytes of a block; None where pages can't be equal."""
    start = block_over_states(layers, accounting.block_tokens)
    largest = max(page_bytes(layer, start) for layer in layers)
    blocks = {layer: start if layer.keeps == "state" else lengthened(layer, start, largest) for layer in layers}
    kinds: dict[int, list[PooledLayer]] = {}
    for layer in layers:
        kinds.setdefault(layer.kind, []).append(layer)
    if len(kinds) > 1 and any(tokens is None for tokens in blocks.values()):
        return None
    rarest, most = min(map(len, kinds.values())), max(map(len, kinds.values()))
    width = most if most < rarest * accounting.joins_within else rarest
    tables = []
    for alike in kinds.values():
        hands: list[list[PooledLayer]] = [[]]
        while len(hands) * width < len(alike):
            hands.append([])
        for turn, layer in enumerate(alike):
            hands[turn % len(hands)].append(layer)
        tokens = accounting.longest_tokens if alike[0].keeps == "state" else blocks[alike[0]]
        assert tokens is not None
        tables += [BlockTable(tuple(hand), tokens) for hand in hands]
    return tables, max(sum(largest for _ in table.layers) for table in tables)


def reserved_blocks(table: BlockTable, accounting: Accounting) -> int:
    """Blocks that a request of the longest length is granted in one table, counted one at a time."""
    layer = table.layers[0]
    if layer.keeps == "state":
        return layer.state_blocks
    held = accounting.longest_tokens
    if layer.keeps == "window":
        held = min(held, layer.window_tokens - 1 + accounting.batch_tokens)
    if layer.keeps == "chunk":
        held = min(held, layer.window_tokens + accounting.batch_tokens)
    blocks = blocks_for(held, table.block_tokens)
    return blocks + 1 if layer.keeps == "window" else blocks


class BlockPool:
    """A pool that hands out and takes back single blocks; the first is never handed out."""

    def __init__(self, blocks: int) -> None:
        self.free = list(range(1, blocks))

    def take(self) -> int | None:
        """A block, if there is one."""
        return self.free.pop() if self.free else None

    def give_back(self, block: int) -> None:
        """A block that nobody uses any more."""
        self.free.append(block)


def carved_blocks(pool_bytes: int, block_bytes: int) -> int:
    """Blocks that fit, cut off one by one."""
    blocks = 0
    while pool_bytes >= block_bytes:
        pool_bytes -= block_bytes
        blocks += 1
    return blocks


def most_blocks_held(table: BlockTable, accounting: Accounting) -> int:
    """The most blocks that a request holds while it is computed batch by batch, blocks behind its window freed."""
    layer, pool = table.layers[0], BlockPool(accounting.longest_tokens + 2)
    held: dict[int, int] = {}
    computed, most = 0, 0
    while computed < accounting.longest_tokens:
        if layer.keeps == "window":
            first_seen = computed - layer.window_tokens + 1
            for index in [index for index in held if (index + 1) * table.block_tokens <= first_seen]:
                pool.give_back(held.pop(index))
        scheduled = min(accounting.batch_tokens, accounting.longest_tokens - computed)
        for token in range(computed, computed + scheduled):
            index = token // table.block_tokens
            if index not in held:
                block = pool.take()
                assert block is not None
                held[index] = block
        computed += scheduled
        most = max(most, len(held))
    return most


def requests_admitted(blocks: int, request: int) -> int:
    """Requests of so many blocks that find all of them, admitted one after another."""
    pool, admitted = BlockPool(blocks), 0
    while all(pool.take() is not None for _ in range(request)):
        admitted += 1
    return admitted
