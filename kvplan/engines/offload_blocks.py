"""How engines lay out the KV that they move between GPU and host memory: what one copy holds, by version."""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.domain.model import Model
from kvplan.engines.versions import release

LMCACHE_CHUNK_TOKENS: Final = 256
_LATENT_BLOCK_TOKENS: Final = 64
"""Blocks of vLLM's MLA kernels."""
_WHOLE_BLOCKS_SINCE: Final = "0.12"


class CopyLayout(NamedTuple):
    """What one copy moves."""

    tokens: float
    """Tokens whose KV, all layers of a GPU together, it holds; below 1 where every layer is copied by itself."""
    by_kernel: bool
    """A GPU kernel gathers the pieces; else the copy engine moves each by itself."""
    words: str
    source: str


def pieces_per_token(model: Model, pp: int = 1) -> float:
    """Tensors that hold a token's growing KV on one GPU: keys and values of every layer apart, latents as one."""
    growing = [layers for layers in model.kv if layers.grows]
    layers = sum(item.layers * (1 if item.latent or item.index_bytes else 2) for item in growing)
    return max(layers / pp, 1.0)


def connector_blocks(deployment: Deployment, block_tokens: int) -> CopyLayout:
    """vLLM's offloading connector: pages of every layer by themselves, since 0.12 a block of all layers in one piece.

    Source: vLLM blog of 2026-01-08: Llama-3.1-8B 32 KB before and 2 MB after, 70B with tp 4 8 KB and 1.25 MB.
    """
    model, layout = deployment.model, deployment.layout
    if any(layers.latent for layers in model.kv):
        block_tokens = max(block_tokens, _LATENT_BLOCK_TOKENS)
    source = "vLLM blog 2026-01-08: layout of KV blocks since 0.12"
    if release(deployment.engine.version) >= release(_WHOLE_BLOCKS_SINCE):
        return CopyLayout(float(block_tokens), False, f"blocks of {block_tokens} tokens, all layers", source)
    page = block_tokens / pieces_per_token(model, layout.pp)
    return CopyLayout(page, False, f"pages of {block_tokens} tokens, each layer by itself", source)


def lmcache_chunks() -> CopyLayout:
    """LMCache gathers chunks of 256 tokens on the GPU and copies each in one piece."""
    words = f"chunks of {LMCACHE_CHUNK_TOKENS} tokens, all layers"
    return CopyLayout(float(LMCACHE_CHUNK_TOKENS), False, words, "LMCache's chunk_size; its report: 400 Gbit/s on H100")


def hicache_pages(deployment: Deployment, block_tokens: int) -> CopyLayout:
    """SGLang's HiCache: a GPU kernel copies the pages of every layer by themselves."""
    page = block_tokens / pieces_per_token(deployment.model, deployment.layout.pp)
    words = f"pages of {block_tokens} tokens, each layer by itself, by a GPU kernel"
    return CopyLayout(page, True, words, "LMSYS 2025-09-10: kernel up to 3 x copies, page-first layout up to 2 x")


def reload_layout(deployment: Deployment, block_tokens: int, method: str | None) -> CopyLayout | None:
    """How idle KV comes back the way that is named; None where nothing is known of its layout."""
    if method == "lmcache":
        return lmcache_chunks()
    if method == "hicache":
        return hicache_pages(deployment, block_tokens)
    if method == "offloading-connector" and deployment.engine.name == "vllm":
        return connector_blocks(deployment, block_tokens)
    return None
