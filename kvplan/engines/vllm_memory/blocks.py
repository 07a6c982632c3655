"""Tokens of a block: what the attention kernels of a card take, and what hybrids raise it to."""

from __future__ import annotations

from math import lcm

from kvplan.domain.deployment import Deployment
from kvplan.engines.vllm_memory.formats import Stored
from kvplan.engines.vllm_memory.pages import Page, Place, pages_of
from kvplan.engines.vllm_memory.rules import DEFAULT_BLOCK_TOKENS, Rules, ceil_div

SPARSE_BLOCK_TOKENS = 64
"""DeepSeek-V3.2's indexer and GLM-5's."""
_HOPPER = "hopper"


def card_class(deployment: Deployment) -> str | None:
    """The kernel class of the card; None where no host is named."""
    gpu = deployment.host.gpu
    return None if gpu is None else gpu.kernel_class


def attention_block_tokens(deployment: Deployment, stored: Stored, rules: Rules) -> int:
    """The block before hybrids raise it: as asked, else the least that the kernels take.

    MiniMax-M3's sparse layers take 128 tokens, MLA what its kernel takes, all others 16.
    """
    kinds = {layers.kind for layers in deployment.model.kv}
    if deployment.settings.block_size is not None:
        return deployment.settings.block_size
    if rules.v0:
        return DEFAULT_BLOCK_TOKENS
    if "mla" in kinds:
        return SPARSE_BLOCK_TOKENS if "indexer" in kinds else _latent_block_tokens(deployment, stored, rules)
    return 128 if "indexer" in kinds else DEFAULT_BLOCK_TOKENS


def _latent_block_tokens(deployment: Deployment, stored: Stored, rules: Rules) -> int:
    """The block of MLA's kernel; a Hopper card where none is named.

    Hopper: FlashMLA's 64; since 0.19 FlashAttention's 16 for 16-bit latents. Blackwell: CUTLASS' 128, since 0.15
    FlashInfer's 64, since 0.19 its 32. Other cards: Triton's 16.
    """
    card, version = card_class(deployment) or _HOPPER, rules.version
    if any(layers.state is not None for layers in deployment.model.kv) and version < (0, 19):
        return DEFAULT_BLOCK_TOKENS
    if card == _HOPPER:
        return 64 if stored.fp8 or version < (0, 19) else DEFAULT_BLOCK_TOKENS
    if card == "blackwell_dc":
        return 32 if version >= (0, 19) else 64 if version >= (0, 15) else 128
    return DEFAULT_BLOCK_TOKENS


def block_tokens_of(place: Place) -> int:
    """The block of attention layers: raised until its page holds a state, or 16-bit layers among quantized ones."""
    start = attention_block_tokens(place.deployment, place.stored, place.rules)
    pages = pages_of(place, start)
    states = [page.page_bytes for page in pages if page.holds == "state"]
    attention = [page for page in pages if page.holds != "state"]
    if states and attention and max(states):
        if _needs_wide_blocks(place):
            start = max(start, 2 * DEFAULT_BLOCK_TOKENS)
        return _raised_over_states(start, attention, max(states), place.rules)
    natives = {page.page_bytes // page.block_tokens for page in attention}
    if place.stored.turboquant and len(natives) > 1 and place.rules.version >= (0, 25):
        small, large = min(natives), max(natives)
        return max(start, start * ceil_div(large * DEFAULT_BLOCK_TOKENS, start * small))
    return start


def _needs_wide_blocks(place: Place) -> bool:
    """Hybrids with heads of 256 on Blackwell had blocks of a multiple of 32 until 0.19."""
    widths = {layers.key_elements for layers in place.deployment.model.kv if layers.kind == "full"}
    return card_class(place.deployment) == "blackwell_dc" and 256 in widths and (0, 11) <= place.rules.version < (0, 20)


def _raised_over_states(start: int, attention: list[Page], state_bytes: int, rules: Rules) -> int:
    """The least multiple of the kernel's block whose page is at least a state."""
    multiple = max(start, DEFAULT_BLOCK_TOKENS)
    if any(page.latent for page in attention):
        multiple = lcm(multiple, 128 if rules.version >= (0, 27) else 64 if rules.version < (0, 20) else 1)
    token_bytes = max(page.page_bytes // page.block_tokens for page in attention)
    return max(start, multiple * ceil_div(state_bytes, multiple * token_bytes))
