"""One block of one layer, for each kind of layer that a model has on one GPU."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.domain.model import KvLayers
from kvplan.engines.vllm_memory import states
from kvplan.engines.vllm_memory.formats import Stored
from kvplan.engines.vllm_memory.rules import Rules, ceil_div
from kvplan.errors import CannotJudge

FP8_DS_MLA_BYTES = 656
"""A latent of 576 as DeepSeek-V3.2 and GLM-5 store it: 512 in FP8, four 32-bit scales, 64 in 16 bits."""
_NATIVE_LAYERS = 4
"""TurboQuant leaves the first two layers and the last two of a dense model in 16 bits."""


class Page(NamedTuple):
    """What one layer takes of a block, and how many blocks a request takes of it."""

    kind: str
    layers: int
    block_tokens: int
    page_bytes: int
    holds: str
    """``full``, ``sliding``, ``chunked``, ``state`` or ``cross``: what decides the blocks of a request."""
    window_tokens: int = 0
    blocks: int = 0
    """Blocks of a request whatever its length: states."""
    latent: bool = False

    @property
    def family(self) -> tuple[str, int]:
        """Layers of one family need as many tokens as each other."""
        return self.holds, self.window_tokens

    def request_blocks(self, tokens: int, in_flight: int, dcp: int) -> int:
        """Blocks of a request of so many tokens.

        A window holds window - 1 tokens and those in flight, and one block more, for it may begin inside one.
        """
        if self.holds == "state":
            return self.blocks
        if self.holds == "cross":
            return ceil_div(self.window_tokens, self.block_tokens)
        if self.holds == "sliding":
            return ceil_div(min(self.window_tokens - 1 + in_flight, tokens), self.block_tokens) + 1
        if self.holds == "chunked":
            return ceil_div(min(self.window_tokens + in_flight, tokens), self.block_tokens)
        return ceil_div(ceil_div(tokens, dcp), self.block_tokens)


class Place(NamedTuple):
    """What a page depends on beside its layers."""

    deployment: Deployment
    stored: Stored
    rules: Rules
    batched_tokens: int
    packs_sparse: bool
    """Sparse attention over FP8 latents stores them in its packed format."""


def pages_of(place: Place, block_tokens: int) -> list[Page]:
    """The pages of a model's layers, equal ones joined; layers that share another's KV have none."""
    found: list[Page] = []
    for layers in place.deployment.model.kv:
        if layers.kind != "shared":
            found += _pages(layers, place, block_tokens)
    joined: dict[Page, int] = {}
    for page in found:
        key = page._replace(layers=0)
        joined[key] = joined.get(key, 0) + page.layers
    return [page._replace(layers=count) for page, count in joined.items()]


def _pages(layers: KvLayers, place: Place, block_tokens: int) -> list[Page]:
    if layers.state is not None:
        return [_state_page(layers, place, block_tokens)]
    one = token_bytes(layers, place)
    page = Page(layers.kind, layers.layers, block_tokens, one * block_tokens, "full", latent=layers.replicated)
    if layers.kind == "cross":
        return [page._replace(holds="cross", window_tokens=_encoder_tokens(layers, place))]
    if layers.window_tokens is not None:
        if place.stored.turboquant:
            raise CannotJudge("vLLM's TurboQuant over sliding windows is not modelled")
        holds = "chunked" if layers.kind == "chunked" else "sliding"
        return [page._replace(holds=holds, window_tokens=layers.window_tokens)]
    return _with_native(page, layers, place)


def token_bytes(layers: KvLayers, place: Place) -> int:
    """Bytes of one token in one layer on one GPU. Heads are split over ranks, never below one; latents are whole."""
    if layers.index_bytes:
        return layers.index_bytes
    if layers.kind == "indexer":
        return 2 * layers.key_elements
    if layers.latent:
        return _latent_bytes(layers, place)
    heads = layers.kv_heads if layers.replicated else max(1, layers.kv_heads // place.deployment.layout.tp)
    return heads * place.stored.pair_bytes(*_widths(layers, place.rules))


def _widths(layers: KvLayers, rules: Rules) -> tuple[int, int]:
    """Widths of key and value as the version's page has them: it knew no other width of values before 0.17.

    Sliding and chunked layers had none of their own before 0.21.
    """
    own = rules.version >= ((0, 17) if layers.window_tokens is None else (0, 21))
    return layers.key_elements, layers.value_elements if own else layers.key_elements


def _latent_bytes(layers: KvLayers, place: Place) -> int:
    stored, width = place.stored, layers.key_elements
    if not (stored.native or stored.fp8):
        raise CannotJudge(f"vLLM's {stored.word} over latents (MLA) is not modelled")
    sparse = bool(layers.read_tokens)
    if stored.word == "fp8_ds_mla" or (sparse and stored.fp8 and place.packs_sparse):
        if width != 576 or not sparse:
            raise CannotJudge(f"fp8_ds_mla is known for sparse latents of 576 elements, not of {width}")
        return FP8_DS_MLA_BYTES
    return stored.latent_bytes(width)


def _with_native(page: Page, layers: KvLayers, place: Place) -> list[Page]:
    """The page; with TurboQuant another one for the layers that stay in 16 bits."""
    dense = all(item.state is None for item in place.deployment.model.kv)
    if not place.stored.turboquant or not dense or layers.kind != "full":
        return [page]
    native = min(_NATIVE_LAYERS, layers.layers // 2 * 2)
    in_native = token_bytes(layers, place._replace(stored=Stored("auto", "bf16"))) * page.block_tokens
    kept = page._replace(layers=native, page_bytes=in_native)
    return [item for item in (page._replace(layers=layers.layers - native), kept) if item.layers]


def _encoder_tokens(layers: KvLayers, place: Place) -> int:
    """Encoder tokens that cross-attention is budgeted for: those of one step since 0.11, the encoder's own before."""
    if place.deployment.model.model_type != "whisper" or place.rules.version < (0, 10):
        raise CannotJudge("vLLM's cross-attention is modelled for Whisper since 0.10 only")
    return place.batched_tokens if place.rules.version >= (0, 11) else layers.sequence_tokens or 0


def _state_page(layers: KvLayers, place: Place, block_tokens: int) -> Page:
    """A state: one block holds it however many tokens it stands for, unless states are cached at block ends."""
    deployment, rules = place.deployment, place.rules
    if rules.version < (0, 10):
        raise CannotJudge(f"recurrent states ({layers.kind}) are modelled for vLLM since 0.10")
    mode = states.cache_mode(deployment, rules)
    tokens = block_tokens if mode == "align" else longest_tokens(deployment)
    blocks = states.state_blocks(layers, mode, deployment, rules)
    one = states.state_bytes(layers, deployment, rules)
    return Page(layers.kind, layers.layers, tokens, one, "state", blocks=blocks)


def longest_tokens(deployment: Deployment) -> int:
    """``--max-model-len``: the longest request."""
    return deployment.settings.max_model_len or deployment.workload.context_tokens
