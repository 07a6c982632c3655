"""DeepSeek-V4: a window of raw latents, compressed ones, an index over them, and the state of the compressors."""

from __future__ import annotations

from kvplan.domain.model import KvLayers
from kvplan.engines.vllm_memory.pages import Page, Place
from kvplan.engines.vllm_memory.rules import round_up
from kvplan.errors import CannotJudge

BLOCK_TOKENS = 256
ROW_BYTES = 584
"""A latent of 512: 448 in FP8, 64 in 16 bits, 8 bytes of scales."""
ALIGNMENT_BYTES = 576
_WINDOW_BLOCK_TOKENS = 64
_SPARSE, _SPARSE_BLOCK, _DENSE_BLOCK = 4, 4, 8
"""A compressor at one entry for 4 tokens overlaps them and has blocks of 4 tokens, others of 8."""


def is_compressed(place: Place) -> bool:
    """Whether the model compresses its latents."""
    return any(layers.kind == "compressed" for layers in place.deployment.model.kv)


def compressed_pages(place: Place) -> list[Page]:
    """Pages of all its caches: only FP8 latents in their packed format are modelled."""
    if place.rules.version < (0, 20):
        raise CannotJudge("DeepSeek-V4's compressed caches are modelled for vLLM since 0.20")
    if not place.stored.fp8 and place.stored.word != "auto":
        raise CannotJudge(f"DeepSeek-V4's caches in {place.stored.word} are not modelled",
                          help="--kv-cache-dtype fp8")  # fmt: skip
    found: list[Page] = []
    for layers in place.deployment.model.kv:
        if layers.kind == "sliding":
            found.append(_window(layers))
        elif layers.kind in ("compressed", "indexer"):
            found += [_entries(layers), _compressor(layers)]
        elif layers.kind != "compressor":
            raise CannotJudge(f"{layers.kind} layers beside compressed ones are not modelled")
    merged: dict[Page, int] = {}
    for page in found:
        key = page._replace(layers=0)
        merged[key] = merged.get(key, 0) + page.layers
    return [page._replace(layers=count) for page, count in merged.items()]


def _aligned(page_bytes: int) -> int:
    return round_up(page_bytes, ALIGNMENT_BYTES)


def _window(layers: KvLayers) -> Page:
    _check_width(layers)
    page_bytes = _aligned(_WINDOW_BLOCK_TOKENS * ROW_BYTES)
    window = layers.window_tokens or 0
    return Page("sliding", layers.layers, _WINDOW_BLOCK_TOKENS, page_bytes, "sliding", window, latent=True)


def _entries(layers: KvLayers) -> Page:
    """Compressed latents, or index keys with their scale: one for so many tokens of a block."""
    if not layers.index_bytes:
        _check_width(layers)
    row = layers.index_bytes or ROW_BYTES
    page_bytes = _aligned(BLOCK_TOKENS // layers.tokens_per_entry * row)
    return Page(layers.kind, layers.layers, BLOCK_TOKENS, page_bytes, "full", latent=True)


def _compressor(layers: KvLayers) -> Page:
    """What waits to be compressed: keys and their scores in 32 bits, twice as many where entries overlap."""
    overlap = 2 if layers.tokens_per_entry == _SPARSE else 1
    block = _SPARSE_BLOCK if layers.tokens_per_entry == _SPARSE else _DENSE_BLOCK
    page_bytes = _aligned(block * 2 * overlap * layers.key_elements * 4)
    window = overlap * layers.tokens_per_entry
    return Page("compressor", layers.layers, block, page_bytes, "sliding", window, latent=True)


def _check_width(layers: KvLayers) -> None:
    if layers.key_elements != 512:
        raise CannotJudge(f"compressed latents are known for 512 elements, not for {layers.key_elements}")
