"""A model as a planner sees it: what its KV cache is made of and where its weight elements are."""

from __future__ import annotations

from typing import NamedTuple


class KvLayers(NamedTuple):
    """Layers of one kind that store KV the same way.

    Each of ``layers`` layers keeps, for every token, ``kv_heads`` key vectors of ``key_elements`` and as many value
    vectors of ``value_elements`` (0 for MLA, whose one latent is key and value at once).
    """

    kind: str
    """``full``, ``sliding``, ``mla`` ..., as ``kvplan kv`` prints it."""
    layers: int
    kv_heads: int
    key_elements: int
    value_elements: int
    window_tokens: int | None = None
    """Only the last so many tokens are kept; None where the cache grows with the sequence."""
    replicated: bool = False
    """Every tensor-parallel rank keeps a whole copy (MLA's latent has no heads to split)."""

    @property
    def elements_per_token(self) -> int:
        """Elements that one layer stores for one token, over all heads."""
        return self.kv_heads * (self.key_elements + self.value_elements)

    @property
    def vectors_per_token(self) -> int:
        """Head vectors (keys and values) that one layer stores for one token."""
        return self.kv_heads * ((self.key_elements > 0) + (self.value_elements > 0))


class WeightElements(NamedTuple):
    """Element counts of a checkpoint by the part they play; their sum is what the checkpoint stores."""

    embedding: int
    lm_head: int
    """0 where the head is the embedding again."""
    linear: int
    """Attention and dense feed-forward matrices of the text body, shared experts included."""
    routed_experts: int
    """All routed experts of all layers."""
    other: int
    """Norms, biases, routers: what quantization leaves in 16 bits."""
    mtp: int = 0
    """Multi-token-prediction heads, copies of the embedding that are stored with them included."""
    towers: int = 0
    """Vision or audio towers that the config describes."""
    scales: int = 0
    """Block scales that a quantized checkpoint stores beside its weights."""

    @property
    def text_body(self) -> int:
        return self.embedding + self.lm_head + self.linear + self.routed_experts + self.other

    @property
    def total(self) -> int:
        return self.text_body + self.mtp + self.towers + self.scales


class Experts(NamedTuple):
    """The routed experts of a mixture-of-experts model."""

    experts: int
    """Routed experts in a layer."""
    experts_per_token: int
    moe_layers: int
    intermediate_size: int
    """Width of one expert."""


class Model(NamedTuple):
    """One model: enough to compute its KV cache, its weight bytes and the work of a decode step."""

    name: str
    """What a person calls it: ``Llama-3.1-70B-Instruct``."""
    model_type: str
    layers: int
    hidden_size: int
    attention_heads: int
    head_elements: int
    """Width of one query head (for MLA: nope + rope)."""
    intermediate_size: int
    """Widest dense feed-forward layer; 0 where every layer is made of experts."""
    vocab_size: int
    max_context_tokens: int | None
    dtype: str
    """Type of the weights in the checkpoint: ``bf16``, ``fp16``, ``fp8``, ``mxfp4`` ... (see weight_scheme.py)."""
    kv: tuple[KvLayers, ...]
    weights: WeightElements
    source: str
    experts: Experts | None = None
    hub_id: str | None = None
    catalog_name: str | None = None
    published_parameters: int | None = None
    tower_elements_unknown: bool = False
    """A vision or audio tower is there, but the config does not say how large: its weights are an interval."""
    warnings: tuple[str, ...] = ()

    @property
    def active_elements(self) -> int:
        """Weight elements that one decoded token multiplies with: no embedding table, only the chosen experts."""
        head = self.weights.lm_head or self.weights.embedding
        active = self.weights.linear + self.weights.other + head
        if self.experts is not None:
            active += self.weights.routed_experts * self.experts.experts_per_token // self.experts.experts
        return active
