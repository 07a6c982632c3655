"""Which caches llama.cpp makes for a model, and the lines that it prints for them, by build.

Source: as ``llama_cpp_cells``, and llama-model.cpp (``swa_type`` of each architecture), llama-memory-recurrent.cpp.
Truth: tests/truth/llama_cpp_logs.jsonl.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.model import KvLayers, Model
from kvplan.engines.llama_cpp_cells import (
    KEYS_ONLY_BUILD,
    LATENT_BUILD,
    SWA_BUILD,
    Cells,
    Slots,
    pad,
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
"""Model types with a cache of windows."""
_UNWINDOWED = ("mistral", "phi3", "qwen2")
"""Model types whose window it ignores: all their tokens are kept."""
_STATES = {"mamba1", "mamba2", "gdn", "kda", "conv"}
_KNOWN = _STATES | {"full", "sliding", "chunked", "mla", "indexer", "shared", "compressed", "compressor"}
_HYBRID_BUILD = 5856
_INDEXED = {"deepseek_v32": (0, 9500), "glm_moe_dsa": (9400, 10200), "deepseek_v4": (0, 10200)}
"""(last build known to keep latents alone, first build known to keep an index or V4's caches); 0: none."""
_ROPE = 64


class Types(NamedTuple):
    """``-ctk`` and ``-ctv``."""

    key: str = "f16"
    value: str = "f16"


class Part(NamedTuple):
    """Layers of one kind in one cache. Bytes are of all its layers and streams."""

    kind: str
    cache: str
    """Parts of one cache are one line of the log."""
    layers: int
    cells: Cells
    key_row: float
    """Bytes of a cell in one layer."""
    value_row: float
    window_tokens: int | None = None

    @property
    def key_bytes(self) -> float:
        return self.layers * self.key_row * self.cells.cells * self.cells.streams

    @property
    def value_bytes(self) -> float:
        return self.layers * self.value_row * self.cells.cells * self.cells.streams

    @property
    def total_bytes(self) -> float:
        return self.key_bytes + self.value_bytes


def parts_of(model: Model, slots: Slots, types: Types) -> tuple[Part, ...]:
    """Everything that is kept for tokens. CannotJudge for layers that no rule here covers."""
    _refuse_unknown(model, slots.build)
    if any(item.kind == "compressed" for item in model.kv):
        return _compressed_parts(model, slots, types)
    found = [_part(model, item, slots, types) for item in model.kv if item.state is None and item.kv_heads]
    order = ("main", "window", "index")
    return tuple(sorted((part for part in found if part.layers), key=lambda part: order.index(part.cache)))


def states_of(model: Model, build: int) -> tuple[tuple[str, int, float, float], ...]:
    """(kind, layers, bytes of convolution windows, bytes of states) of one slot: always in 32 bits."""
    found = [
        (item.kind, item.layers, 4.0 * item.layers * item.state.conv_elements,
         4.0 * item.layers * item.state.recurrent_elements)
        for item in model.kv
        if item.state is not None and item.kind in _STATES
    ]  # fmt: skip
    if found and build < _HYBRID_BUILD:
        raise CannotJudge(f"states of llama.cpp before b{_HYBRID_BUILD} are not modelled")
    return tuple(found)


def log_lines(model: Model, slots: Slots, types: Types) -> tuple[str, ...]:
    """The lines about KV and states that this build prints."""
    parts = parts_of(model, slots, types)
    lines = [_line([part for part in parts if part.cache == name], slots, types)
             for name in dict.fromkeys(part.cache for part in parts)]  # fmt: skip
    states = states_of(model, slots.build)
    if states:
        conv = sum(row[2] for row in states) * slots.slots / MIB
        recurrent = sum(row[3] for row in states) * slots.slots / MIB
        name = "llama_memory_recurrent"
        lines.append(f"{name}: RS buffer size = {conv + recurrent:8.2f} MiB")
        lines.append(f"{name}: size = {conv + recurrent:7.2f} MiB ({slots.slots:6d} cells, {model.layers:3d} layers,"
                     f" {slots.slots:2d} seqs), R (f32): {conv:7.2f} MiB, S (f32): {recurrent:7.2f} MiB")  # fmt: skip
    return tuple(lines)


def _refuse_unknown(model: Model, build: int) -> None:
    unknown = sorted({item.kind for item in model.kv} - _KNOWN)
    if unknown:
        raise CannotJudge(f"how llama.cpp stores {', '.join(unknown)} layers of {model.name} is not modelled")
    if not {item.kind for item in model.kv} & {"indexer", "compressed"}:
        return
    if model.model_type not in _INDEXED:
        raise CannotJudge(f"how llama.cpp stores the index of {model.name} is not modelled")
    last_without, first_with = _INDEXED[model.model_type]
    if last_without < build < first_with:
        raise CannotJudge(f"how llama.cpp b{build} stores {model.name} is not modelled",
                          help=f"modelled from b{first_with} on")  # fmt: skip


def _keeps_window(model: Model, item: KvLayers, build: int) -> bool:
    """Whether these layers have cells for their window only."""
    if not item.window_tokens or build < SWA_BUILD or model.model_type.startswith(_UNWINDOWED):
        return False
    if model.model_type.startswith(_WINDOWED):
        return True
    raise CannotJudge(f"whether llama.cpp has a cache of windows for {model.model_type} is not known")


def _part(model: Model, item: KvLayers, slots: Slots, types: Types) -> Part:
    """One kind of layer. Without flash attention V lies transposed, every layer as wide as the widest."""
    if item.kind == "indexer":
        has_cache = slots.build >= _INDEXED[model.model_type][1]
        layers = sum(other.layers for other in model.kv if other.latent) if has_cache else 0
        return Part("indexer", "index", layers, stream_cells(slots), row_bytes(types.key, item.key_elements), 0.0)
    window = item.window_tokens if _keeps_window(model, item, slots.build) else None
    cells = stream_cells(slots) if window is None else window_cells(slots, window)
    key, value = _widths(model, item, slots.build)
    if not slots.flash and not item.latent:
        value = max(other.kv_heads * other.value_elements for other in model.kv)
    value_row = row_bytes(types.value, value) if value else 0.0
    where = "main" if window is None else "window"
    return Part(item.kind, where, item.layers, cells, row_bytes(types.key, key), value_row, window)


def _widths(model: Model, item: KvLayers, build: int) -> tuple[int, int]:
    """Elements of a K row and of a V row. A latent was kept twice until January 2026, expanded before April 2025."""
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


def _compressed_parts(model: Model, slots: Slots, types: Types) -> tuple[Part, ...]:
    """DeepSeek-V4: windows, entries for 4 and 128 tokens, index keys: K only, and a stream for each slot always.

    Compressor states are one row of 32-bit keys and scores for each slot.
    """
    own = slots._replace(unified=False)
    full = stream_cells(own)
    found = []
    for item in model.kv:
        name = f"{item.kind} {item.tokens_per_entry}"
        if item.state is not None:
            row = 4.0 * (item.state.conv_elements + item.state.recurrent_elements)
            name = f"state {item.state.recurrent_elements}"
            found.append(Part("compressor", name, item.layers, Cells(1, full.streams), row, 0.0))
            continue
        cells = full._replace(cells=pad(-(-full.cells // item.tokens_per_entry), 256))
        if item.window_tokens:
            cells = window_cells(own, item.window_tokens)
        row = row_bytes(types.key, item.key_elements)
        found.append(Part(item.kind, name, item.layers, cells, row, 0.0, item.window_tokens))
    return tuple(found)


def _line(parts: list[Part], slots: Slots, types: Types) -> str:
    key, value = sum(part.key_bytes for part in parts) / MIB, sum(part.value_bytes for part in parts) / MIB
    layers, cells = sum(part.layers for part in parts), parts[0].cells
    kinds = f"K ({types.key}): {key:7.2f} MiB, V ({types.value}): {value:7.2f} MiB"
    if parts[0].kind == "compressor":
        return f"llama_dsv4_comp_state: streams = {cells.streams}, layers = {layers}, size = {key:7.2f} MiB"
    if slots.build < SWA_BUILD:
        name = "llama_context" if slots.build < 5262 else "llama_kv_cache_unified"
        return f"{name}: KV self size  = {key + value:7.2f} MiB, {kinds}"
    name = "llama_kv_cache" if slots.build >= 6233 else "llama_kv_cache_unified"
    counts = f"{cells.cells:6d} cells, {layers:3d} layers{_seqs(slots, cells)}"
    return f"{name}: size = {key + value:7.2f} MiB ({counts}), {kinds}"


def _seqs(slots: Slots, cells: Cells) -> str:
    """Slots and streams, as far as the build prints them."""
    if slots.build < 5441:
        return ""
    if slots.build < 5913:
        return f", {slots.slots:2d} seqs"
    streams = f"{cells.streams:2d}" if slots.build < 6072 else str(cells.streams)
    return f", {slots.slots:2d}/{streams} seqs"
