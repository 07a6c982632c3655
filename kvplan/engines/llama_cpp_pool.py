"""llama.cpp's caches: which there are for a model, their bytes, the lines it prints, and how many cells a pool holds.

There is no pool of blocks: ``-c`` tokens over ``-np`` slots are reserved at the start. For a pool of so many bytes
this asks for the largest ``-c`` whose caches fit. Lines count all GPUs, bytes here are those of the GPU with the most
layers. Truth: tests/truth/llama_cpp_logs.jsonl.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.domain.model import KvLayers, Model
from kvplan.engines.interface import replica_users
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.llama_cpp_cells import (
    KEYS_ONLY_BUILD,
    LATENT_BUILD,
    PAD_BUILD,
    SWA_BUILD,
    Cells,
    Slots,
    is_unified,
    pad,
    padding,
    row_bytes,
    stream_cells,
    window_cells,
)
from kvplan.errors import CannotJudge
from kvplan.units import MIB

_WINDOWED = (
    "afmoe", "cohere2", "exaone4", "exaone_moe", "gemma2", "gemma3", "gemma4", "gpt_oss", "llama4", "mimo_v2",
    "olmo3", "step3p5",
)  # fmt: skip
"""Model types with a cache of windows in llama-model.cpp (``swa_type``)."""
_UNWINDOWED = ("mistral", "phi3", "qwen2", "llama")
"""Model types whose window it ignores: all their tokens are kept."""
_STATES = {"mamba1", "mamba2", "gdn", "kda", "conv"}
_KNOWN = _STATES | {"full", "sliding", "chunked", "mla", "indexer", "shared", "compressed", "compressor"}
_HYBRID_BUILD = 5856
_INDEX_BUILDS = {"deepseek_v32": (9400, 9500), "glm_moe_dsa": (9400, 10200), "deepseek_v4": (10200, 10200)}
"""(last build known without, first build known with) an index beside the latents, or DeepSeek-V4's caches."""
_ROPE = 64


class Types(NamedTuple):
    """``-ctk`` and ``-ctv``."""

    key: str = "f16"
    value: str = "f16"


class Cache(NamedTuple):
    """One cache: a line of the log."""

    kind: str
    layers: int
    cells: Cells
    key_row: float
    value_row: float
    window_tokens: int | None = None

    @property
    def key_bytes(self) -> float:
        return self.layers * self.key_row * self.cells.cells * self.cells.streams

    @property
    def value_bytes(self) -> float:
        return self.layers * self.value_row * self.cells.cells * self.cells.streams


class States(NamedTuple):
    """States that are kept for every slot, in 32 bits."""

    layers: int
    conv_bytes: float
    """Of one slot, all layers."""
    recurrent_bytes: float


def kv_layout(question: KvQuestion, build: int, micro_batch_tokens: int = 512) -> KvLayout:
    """How a ``llama-server`` of this build lays out the KV of ``-c context x slots -np slots``."""
    deployment, slots_count = question.deployment, replica_users(question.deployment)
    types = Types() if question.kernel is None else Types(question.kernel.flag, question.kernel.flag)
    context = deployment.workload.context_tokens
    slots = Slots(build, context * slots_count, slots_count, micro_batch_tokens=micro_batch_tokens)
    gpus = deployment.layout.tp * deployment.layout.pp
    found, states = caches_of(deployment.model, slots, types), states_of(deployment.model, build)
    layers = tuple(_layer(cache, slots_count, gpus) for cache in found) + _state_layers(states, gpus)
    growing = [row for row in layers if row.window_tokens is None]
    return KvLayout(
        kv_cache_dtype=types.key,
        block_tokens=padding(slots),
        bytes_per_token=sum(row.bytes_per_token for row in growing),
        fixed_bytes_per_sequence=sum(row.bytes_per_sequence for row in layers if not row.bytes_per_token or row.window_tokens),
        bytes_per_sequence=sum(row.bytes_per_sequence for row in layers),
        layers=layers,
        pool=None if question.pool_bytes is None else _pool(deployment, slots, types, question.pool_bytes),
        notes=_notes(deployment, build, gpus),
    )


def caches_of(model: Model, slots: Slots, types: Types) -> tuple[Cache, ...]:
    """Every cache of KV, in the order of the log. CannotJudge for layers that no rule here covers."""
    _refuse_unknown(model, slots.build)
    if any(item.kind == "compressed" for item in model.kv):
        return _compressed_caches(model, slots, types)
    full, windows = [], []
    for item in model.kv:
        if item.state is None and item.kv_heads:
            (windows if _keeps_window(model, item, slots.build) else full).append(item)
    merged = [_cache(model, item, full, slots, types) for item in full]
    merged += [_cache(model, item, windows, slots, types) for item in windows]
    return tuple(_merged([cache for cache in merged if cache.layers]))


def states_of(model: Model, build: int) -> States | None:
    """Recurrent states: convolution windows (R) and states (S)."""
    recurrent = [item for item in model.kv if item.kind in _STATES and item.state is not None]
    if not recurrent:
        return None
    if build < _HYBRID_BUILD:
        raise CannotJudge(f"states of llama.cpp before b{_HYBRID_BUILD} are not modelled")
    conv = sum(4.0 * item.layers * (item.state.conv_elements if item.state else 0) for item in recurrent)
    states = sum(4.0 * item.layers * (item.state.recurrent_elements if item.state else 0) for item in recurrent)
    return States(model.layers, conv, states)


def log_lines(model: Model, slots: Slots, types: Types) -> tuple[str, ...]:
    """The lines about KV and states that this build prints."""
    lines = [_line(cache, slots, types) for cache in caches_of(model, slots, types)]
    states = states_of(model, slots.build)
    if states is not None:
        conv, recurrent = states.conv_bytes * slots.slots / MIB, states.recurrent_bytes * slots.slots / MIB
        name = "llama_memory_recurrent"
        lines.append(f"{name}: RS buffer size = {conv + recurrent:8.2f} MiB")
        lines.append(f"{name}: size = {conv + recurrent:7.2f} MiB ({slots.slots:6d} cells, {states.layers:3d} layers,"
                     f" {slots.slots:2d} seqs), R (f32): {conv:7.2f} MiB, S (f32): {recurrent:7.2f} MiB")  # fmt: skip
    return tuple(lines)


def total_bytes(model: Model, slots: Slots, types: Types, gpus: int = 1) -> float:
    """All caches and states on the GPU with the most layers."""
    found = sum(_on_gpu(cache.layers, gpus) * (cache.key_bytes + cache.value_bytes)
                for cache in caches_of(model, slots, types))  # fmt: skip
    states = states_of(model, slots.build)
    one = 0.0 if states is None else states.conv_bytes + states.recurrent_bytes
    return found + one * slots.slots / gpus


def _refuse_unknown(model: Model, build: int) -> None:
    unknown = sorted({item.kind for item in model.kv} - _KNOWN)
    if unknown:
        raise CannotJudge(f"how llama.cpp stores {', '.join(unknown)} layers of {model.name} is not modelled")
    indexed = {item.kind for item in model.kv} & {"indexer", "compressed"}
    if indexed and model.model_type not in _INDEX_BUILDS:
        raise CannotJudge(f"how llama.cpp stores the index of {model.name} is not modelled")
    if indexed:
        last_without, first_with = _INDEX_BUILDS[model.model_type]
        if (last_without if model.model_type == "glm_moe_dsa" else 0) < build < first_with:
            raise CannotJudge(f"how llama.cpp b{build} stores {model.name} is not modelled",
                              help=f"modelled from b{first_with} on")  # fmt: skip


def _keeps_window(model: Model, item: KvLayers, build: int) -> bool:
    """Whether these layers have cells for their window only."""
    if not item.window_tokens or build < SWA_BUILD:
        return False
    if model.model_type.startswith(_WINDOWED):
        return True
    if model.model_type.startswith(_UNWINDOWED):
        return False
    raise CannotJudge(f"whether llama.cpp has a cache of windows for {model.model_type} is not known")


def _cache(model: Model, item: KvLayers, together: list[KvLayers], slots: Slots, types: Types) -> Cache:
    """One kind of layer. Without flash attention V lies transposed, every layer as wide as the widest."""
    window = item.window_tokens if _keeps_window(model, item, slots.build) else None
    cells = stream_cells(slots) if window is None else window_cells(slots, window)
    layers = item.layers
    if item.kind == "indexer":
        has_cache = slots.build >= _INDEX_BUILDS[model.model_type][1]
        layers = sum(other.layers for other in together if other.latent) if has_cache else 0
        return Cache("indexer", layers, cells, row_bytes(types.key, item.key_elements), 0.0)
    key, value = _widths(model, item, slots.build)
    if not slots.flash and not item.latent:
        value = max(other.kv_heads * other.value_elements for other in model.kv)
    return Cache(item.kind, layers, cells, row_bytes(types.key, key), row_bytes(types.value, value) if value else 0.0,
                 window)  # fmt: skip


def _widths(model: Model, item: KvLayers, build: int) -> tuple[int, int]:
    """Elements of a K row and of a V row. A latent was kept twice until January 2026, and expanded before April 2025."""
    if not item.latent:
        return item.kv_heads * item.key_elements, item.kv_heads * item.value_elements
    if build >= KEYS_ONLY_BUILD:
        return item.key_elements, 0
    if build >= LATENT_BUILD:
        return item.key_elements, item.key_elements - _ROPE
    return expanded_widths(model)


def expanded_widths(model: Model) -> tuple[int, int]:
    """MLA without its latent: keys and values of all heads (DeepSeek: 192 and 128 elements)."""
    if not model.model_type.startswith(("deepseek_v2", "deepseek_v3", "kimi_k2")):
        raise CannotJudge(f"llama.cpp before b{LATENT_BUILD} does not know {model.name}")
    return model.attention_heads * model.head_elements, model.attention_heads * (model.head_elements - _ROPE)


def _compressed_caches(model: Model, slots: Slots, types: Types) -> tuple[Cache, ...]:
    """DeepSeek-V4: windows, entries for 4 and 128 tokens, index keys, all K only and a stream for each slot."""
    own = slots._replace(unified=False)
    full = stream_cells(own)
    found = []
    for item in model.kv:
        if item.state is not None:
            continue
        cells = full._replace(cells=pad(-(-full.cells // item.tokens_per_entry), 256))
        if item.window_tokens:
            cells = window_cells(own, item.window_tokens)
        found.append(Cache(item.kind, item.layers, cells, row_bytes(types.key, item.key_elements), 0.0, item.window_tokens))
    rows = [(item.layers, (item.state.conv_elements + item.state.recurrent_elements) * 4.0)
            for item in model.kv if item.state is not None]  # fmt: skip
    return (*found, *(Cache("compressor", layers, Cells(1, full.streams), row, 0.0) for layers, row in rows))


def _merged(found: list[Cache]) -> list[Cache]:
    """Kinds that lie in one cache and store alike are one line: layers of the same cells and rows."""
    merged: dict[tuple[object, ...], Cache] = {}
    for cache in found:
        same = cache[2:] if cache.kind != "indexer" else cache
        held = merged.get(same)
        merged[same] = cache if held is None else held._replace(layers=held.layers + cache.layers)
    return list(merged.values())


def _line(cache: Cache, slots: Slots, types: Types) -> str:
    key, value = cache.key_bytes / MIB, cache.value_bytes / MIB
    kinds = f"K ({types.key}): {key:7.2f} MiB, V ({types.value}): {value:7.2f} MiB"
    if cache.kind == "compressor":
        return f"llama_dsv4_comp_state: layers = {cache.layers}, streams = {cache.cells.streams}, size = {key:7.2f} MiB"
    if slots.build < SWA_BUILD:
        name = "llama_context" if slots.build < 5262 else "llama_kv_cache_unified"
        return f"{name}: KV self size  = {key + value:7.2f} MiB, {kinds}"
    name = "llama_kv_cache" if slots.build >= 6233 else "llama_kv_cache_unified"
    streams = f"{cache.cells.streams:2d}" if slots.build < 6072 else f"{cache.cells.streams}"
    seqs = f", {slots.slots:2d}/{streams} seqs" if slots.build >= 5913 else f", {slots.slots:2d} seqs"
    seqs = "" if slots.build < 5441 else seqs
    return f"{name}: size = {key + value:7.2f} MiB ({cache.cells.cells:6d} cells, {cache.layers:3d} layers{seqs}), {kinds}"
