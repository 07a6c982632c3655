"""A model as a planner sees it: what its KV cache is made of and where its weight elements are."""

from typing import Final, NamedTuple

from kvplan.domain.interval import Interval

UNKNOWN_TOWER_ELEMENTS: Final = Interval(0.0, 0.87e9, 2.7e9)
"""A vision or audio tower of a config that does not describe it.

Source: published totals less text bodies: 0.45 (Kimi-K2.5) to 0.98 (Gemma 3n) and 2.68 (Mistral Medium 3.5) billion.
"""


class State(NamedTuple):
    """What a recurrent layer keeps for a sequence, however long: Mamba, gated delta net, KDA, short convolution.

    Sources: the cache classes of transformers and vLLM's ``mamba_utils``; a convolution keeps kernel - 1 columns.
    """

    conv_elements: int
    """Rolling window of the convolution, kept in 16 bits unless the engine says otherwise."""
    recurrent_elements: int = 0
    """The state itself."""
    recurrent_float32: bool = False
    """The architecture keeps its state in 32 bits (KDA, lightning attention, configs with ``mamba_ssm_dtype``)."""
    conv_columns: int = 0
    """Columns of the convolution's window (kernel - 1): what ``conv_elements`` is a multiple of; 0: not known."""
    groups: int = 0
    """Groups of Mamba-2's state projections, which tensor-parallel ranks share; 0: not known, or none."""
    group_channels: int = 0
    """Channels of the convolution for each of these groups."""


class KvLayers(NamedTuple):
    """Layers of one kind that store KV the same way.

    Each of ``layers`` layers keeps, for every token, ``kv_heads`` key vectors of ``key_elements`` and as many value
    vectors of ``value_elements`` (0 for MLA, whose one latent is key and value at once).
    """

    kind: str
    """``full``, ``sliding``, ``chunked``, ``cross``, ``mla``, ``compressed``, ``indexer``, ``shared``, ``mamba1``,
    ``mamba2``, ``gdn``, ``kda``, ``lightning``, ``conv``, ``compressor``: as ``kvplan kv`` prints it."""
    layers: int
    kv_heads: int
    """KV heads, or the heads of a recurrent state: what tensor parallelism divides."""
    key_elements: int
    value_elements: int
    window_tokens: int | None = None
    """Only the last so many tokens are kept; None where the cache grows with the sequence."""
    replicated: bool = False
    """Every tensor-parallel rank keeps a whole copy (MLA's latent has no heads to split)."""
    tokens_per_entry: int = 1
    """A compressed cache keeps one entry for so many tokens (DeepSeek-V4)."""
    index_bytes: int = 0
    """Bytes of an entry whose type no KV format changes: FP8 index keys with their scale."""
    index_heads: int = 0
    """Query heads of a sparse-attention index, each of which is compared with every index key."""
    sequence_tokens: int | None = None
    """Cross-attention keeps the KV of so many image or audio tokens, however long the text is."""
    read_tokens: int | None = None
    """Sparse attention reads only so many of the tokens that it keeps; None where it reads all."""
    state: State | None = None
    """Set for recurrent layers, which keep this and no KV."""

    @property
    def grows(self) -> bool:
        """Whether one more token costs memory once every window is full."""
        return self.window_tokens is None and self.sequence_tokens is None and self.state is None

    @property
    def latent(self) -> bool:
        """Whether one vector is key and value of all heads at once."""
        return self.kind in ("mla", "compressed")

    @property
    def elements_per_token(self) -> int:
        """Elements that one layer stores for one entry, over all heads; index keys of fixed type not counted."""
        return self.kv_heads * (self.key_elements + self.value_elements)

    @property
    def vectors_per_token(self) -> int:
        """Head vectors (keys and values) that one layer stores for one entry."""
        return self.kv_heads * ((self.key_elements > 0) + (self.value_elements > 0))


class LatentSides(NamedTuple):
    """The matrices of multi-head latent attention, which engines lay out in ways of their own."""

    query_rank: int
    """0: queries are projected in one step."""
    kv_rank: int
    nope: int
    rope: int
    value: int


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
    lookup: int = 0
    """Of ``other``: tables of which a token reads a few rows (per-layer embeddings, the routes of hash layers)."""
    mtp_kept: int = 0
    """Of ``mtp``: joint matrices, norms and copies of embedding and head, which quantization leaves in 16 bits."""
    mtp_experts: int = 0
    """Of ``mtp``: routed experts."""

    @property
    def text_body(self) -> int:
        return self.embedding + self.lm_head + self.linear + self.routed_experts + self.other

    @property
    def total(self) -> int:
        return self.text_body + self.mtp + self.towers + self.scales


class StoredWeights(NamedTuple):
    """Bytes that the tensors of a checkpoint really take, by the part they play, as its files state them."""

    dense_bytes: float
    """Everything but what the other fields name: attention, dense feed-forward, shared experts, norms, head."""
    routed_expert_bytes: float
    embedding_bytes: float
    """The embedding table: a decode step reads single rows of it, unless it is the head as well."""
    mtp_bytes: float = 0.0
    tower_bytes: float = 0.0
    lookup_bytes: float = 0.0
    """Of ``dense_bytes``: tables of which a token reads a few rows."""
    elements: int = 0
    """Elements of all tensors, packed ones unpacked."""

    @property
    def total_bytes(self) -> float:
        return self.dense_bytes + self.routed_expert_bytes + self.embedding_bytes + self.mtp_bytes + self.tower_bytes


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
    mtp_kv: tuple[KvLayers, ...] = ()
    """KV of the multi-token-prediction layers: cached only while they speculate."""
    latent_sides: LatentSides | None = None
    """Widths of MLA; None for other attention."""
    stored: StoredWeights | None = None
    """True bytes of the checkpoint's tensors; None where only a config is at hand."""
    weights_unsettled: str = ""
    """Why the config alone does not tell how the weights are stored; empty where it does. ``dtype`` means nothing
    then, and weight bytes are known for a type that the user names."""
    warnings: tuple[str, ...] = ()

    @property
    def parameters(self) -> Interval:
        """Elements that the checkpoint stores; a tower that the config does not describe makes them an interval."""
        known = float(self.weights.total)
        if not self.tower_elements_unknown:
            return Interval.exact(known)
        return UNKNOWN_TOWER_ELEMENTS.map(lambda elements: known + elements)

    @property
    def active_elements(self) -> int:
        """Weight elements that one decoded token multiplies with: no embedding table, only the chosen experts."""
        head = self.weights.lm_head or self.weights.embedding
        active = self.weights.linear + self.weights.other - self.weights.lookup + head
        if self.experts is not None:
            active += self.weights.routed_experts * self.experts.experts_per_token // self.experts.experts
        return active
