"""llama.cpp's layout in a deployment's words, and how many cells so many bytes hold.

There is no pool of blocks: ``-c`` tokens over ``-np`` slots are reserved at the start. For a pool of so many bytes
this finds the largest ``-c`` whose caches fit beside the windows and states of its slots. Lines count all GPUs, bytes
are those of the GPU with the most layers.
"""

from __future__ import annotations

from kvplan.domain.model import Model
from kvplan.engines.interface import replica_users
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.llama_cpp_caches import Part, Types, log_lines, parts_of, states_of
from kvplan.engines.llama_cpp_cells import PAD_BUILD, Slots, is_unified, padding
from kvplan.errors import CannotJudge
from kvplan.units import LARGEST_COUNT


def kv_layout(question: KvQuestion, build: int, micro_batch_tokens: int = 512) -> KvLayout:
    """How a ``llama-server`` of this build lays out the KV of ``-c context x slots -np slots``."""
    deployment, slots_count = question.deployment, replica_users(question.deployment)
    types = Types() if question.kernel is None else Types(question.kernel.flag, question.kernel.flag)
    context = deployment.workload.context_tokens
    slots = Slots(build, context * slots_count, slots_count, micro_batch_tokens=micro_batch_tokens)
    gpus = deployment.layout.tp * deployment.layout.pp
    parts = parts_of(deployment.model, slots, types)
    layers = (*(_layer(part, slots_count, gpus) for part in parts), *_state_layers(deployment.model, build, gpus))
    growing = [row for row in layers if row.bytes_per_token and row.window_tokens is None]
    every = sum(row.bytes_per_sequence for row in layers)
    return KvLayout(
        kv_cache_dtype=types.key,
        block_tokens=padding(slots),
        bytes_per_token=sum(row.bytes_per_token for row in growing),
        fixed_bytes_per_sequence=every - sum(row.bytes_per_sequence for row in growing),
        bytes_per_sequence=every,
        layers=layers,
        pool=None if question.pool_bytes is None else _pool(deployment.model, slots, types, gpus, question.pool_bytes),
        notes=_notes(question, build, gpus, slots_count),
    )


def total_bytes(model: Model, slots: Slots, types: Types, gpus: int = 1) -> float:
    """All caches and states on the GPU with the most layers."""
    kept = sum(part.total_bytes * _most_layers(part.layers, gpus) for part in parts_of(model, slots, types))
    states = states_of(model, slots.build)
    return kept + sum((conv + state) * _most_layers(layers, gpus) for _, layers, conv, state in states) * slots.slots


def largest_context(model: Model, slots: Slots, types: Types, gpus: int, pool_bytes: float) -> int:
    """Cells of all streams together that fit, a whole padding for each stream; 0 where not one fits.

    Bytes never fall with more cells, so that halving finds the last that fits.
    """
    step = padding(slots) * (1 if is_unified(slots) else slots.slots)

    def fits(steps: int) -> bool:
        return total_bytes(model, slots._replace(context_tokens=steps * step), types, gpus) <= pool_bytes

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if high * step > LARGEST_COUNT:
            raise CannotJudge(f"the KV of {model.name} does not grow with the context: any fits")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * step


def _pool(model: Model, slots: Slots, types: Types, gpus: int, pool_bytes: float) -> PoolCount:
    context = largest_context(model, slots, types, gpus, pool_bytes)
    if not context:
        raise CannotJudge("beside windows and states the pool has no room for cells: llama.cpp would not start")
    found = slots._replace(context_tokens=context)
    return PoolCount(context // padding(slots), context, None, "\n".join(log_lines(model, found, types)))


def _most_layers(layers: int, gpus: int) -> float:
    """Share of the layers that the fullest GPU has, split as evenly as whole layers can be."""
    return -(-layers // gpus) / layers if layers else 0.0


def _layer(part: Part, slots: int, gpus: int) -> LayerBytes:
    layers = -(-part.layers // gpus)
    token = 0.0 if part.kind == "compressor" else layers * (part.key_row + part.value_row) / _tokens_per_cell(part)
    sequence = part.total_bytes * _most_layers(part.layers, gpus) / slots
    return LayerBytes(part.kind, layers, token, part.window_tokens, sequence)


def _tokens_per_cell(part: Part) -> int:
    """A compressed entry stands for 4 or 128 tokens."""
    return int(part.cache.split()[1]) if part.cache.startswith(("compressed ", "indexer ")) else 1


def _state_layers(model: Model, build: int, gpus: int) -> tuple[LayerBytes, ...]:
    return tuple(
        LayerBytes(kind, -(-layers // gpus), 0.0, None, (conv + state) * _most_layers(layers, gpus))
        for kind, layers, conv, state in states_of(model, build)
    )


def _notes(question: KvQuestion, build: int, gpus: int, slots: int) -> tuple[str, ...]:
    found = []
    if gpus > 1:
        found.append("layers are split evenly here; llama.cpp splits them by free memory (-ts)")
    if slots > 1 and build >= PAD_BUILD:
        found.append(f"-np {slots} as it is given: each slot has a stream of its own (-kvu joins them)")
    if question.deployment.settings.drafting is not None:
        found.append("the KV of a draft model and the states of drafts are not counted")
    return tuple(found)
