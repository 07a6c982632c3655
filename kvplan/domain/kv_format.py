"""How one element of the KV cache is stored.

A format is bytes per element plus bytes per head vector (scales that are stored once for each token and head).
Sources: vLLM ``kv_cache_interface.py`` (page sizes), llama.cpp ``ggml-common.h`` (block formats).
"""

from typing import NamedTuple

from kvplan.domain.interval import Interval


class KvFormat(NamedTuple):
    """One storage format of K and V."""

    name: str
    element_bytes: float
    vector_bytes: float = 0.0
    """Bytes for each key or value vector of one token and head: per-token-head scales."""
    step_rate_fraction: float = 1.0
    """Decode attention rate relative to a 16-bit cache of the same number of bytes."""
    layer_s: Interval = Interval(0.0, 0.0, 0.0)
    """Time that its kernels add to every layer of a decode step, however short the context is."""
    native_layers: int = 0
    """Layers whose KV stays in 16 bits: the first and the last ones, half of them each."""
    residual_tokens: int = 0
    """The newest tokens of every sequence that are kept in 16 bits, at most so many."""

    def bytes_of(self, elements: int, vectors: int) -> float:
        """Bytes of ``vectors`` head vectors that hold ``elements`` numbers together."""
        return elements * self.element_bytes + vectors * self.vector_bytes


NATIVE_16_BIT = KvFormat("bf16", 2.0)
FP8_DS_MLA = KvFormat("fp8_ds_mla", 656 / 576, step_rate_fraction=0.92)
"""512 FP8 elements with four 32-bit scales, and 64 rotary ones in 16 bits: 656 bytes for a latent of 576."""
