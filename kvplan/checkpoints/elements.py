"""How many elements the building blocks of a decoder store.

D is the hidden width, H and K the query and KV heads, d the head width, I the inner width of a feed-forward layer, E
the experts. Matrices are kept with their two sides, because the block scales of an FP8 checkpoint depend on them:
matrices of attention and dense layers apart from those of routed experts, and both apart from what quantization
leaves alone (norms, biases, routers).

Formulas: the modules of Hugging Face transformers; held by the published element counts in
tests/truth/model_facts.jsonl.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvplan.domain.model import LatentSides


class Matrix(NamedTuple):
    """A weight matrix that is stored ``copies`` times (over layers, over experts)."""

    outputs: int
    inputs: int
    copies: int = 1

    @property
    def elements(self) -> int:
        return self.outputs * self.inputs * self.copies


class Parts:
    """What a piece of a model stores. Parts add up and multiply; they are never changed.

    ``linear`` are the matrices of attention, dense feed-forward layers and shared experts, ``routed`` those of routed
    experts, ``other`` the elements of norms, biases and routers. A plain class, because creating a dataclass takes a
    millisecond of every start.
    """

    __slots__ = ("linear", "other", "routed")

    def __init__(self, linear: tuple[Matrix, ...] = (), routed: tuple[Matrix, ...] = (), other: int = 0) -> None:
        self.linear = linear
        self.routed = routed
        self.other = other

    def __add__(self, more: Parts) -> Parts:
        return Parts(self.linear + more.linear, self.routed + more.routed, self.other + more.other)

    def times(self, copies: int) -> Parts:
        """The same piece ``copies`` times, as in so many equal layers."""
        if copies == 0:
            return Parts()
        return Parts(
            tuple(matrix._replace(copies=matrix.copies * copies) for matrix in self.linear),
            tuple(matrix._replace(copies=matrix.copies * copies) for matrix in self.routed),
            self.other * copies,
        )

    @property
    def linear_elements(self) -> int:
        return sum(matrix.elements for matrix in self.linear)

    @property
    def routed_elements(self) -> int:
        return sum(matrix.elements for matrix in self.routed)

    @property
    def total(self) -> int:
        return self.linear_elements + self.routed_elements + self.other

    def scales(self, of_matrix: Callable[[Matrix], int]) -> int:
        """Scales of all matrices, where one copy of a matrix has ``of_matrix`` of them."""
        return sum(of_matrix(matrix) * matrix.copies for matrix in self.linear + self.routed)


def linear(inputs: int, outputs: int, *, bias: bool = False) -> Parts:
    """One matrix: outputs x inputs, + outputs with a bias."""
    return Parts(linear=(Matrix(outputs, inputs),), other=outputs if bias else 0)


def norm(width: int, *, norms: int = 1, bias: bool = False) -> Parts:
    """RMSNorm: its width; LayerNorm with a bias: twice its width."""
    return Parts(other=width * norms * (2 if bias else 1))


class Heads(NamedTuple):
    """The sides of one layer's attention: widths and heads."""

    hidden: int
    heads: int
    kv_heads: int
    key: int
    value: int


def attention(heads: Heads, *, qkv_bias: bool = False, out_bias: bool = False) -> Parts:
    """Multi-head, grouped-query or multi-query attention: D·H·d + D·K·d (keys) + D·K·v (values) + H·v·D.

    Biases: H·d + K·(d + v) on the way in, D on the way out.
    """
    queries = linear(heads.hidden, heads.heads * heads.key, bias=qkv_bias)
    keys = linear(heads.hidden, heads.kv_heads * heads.key, bias=qkv_bias)
    values = linear(heads.hidden, heads.kv_heads * heads.value, bias=qkv_bias)
    return queries + keys + values + linear(heads.heads * heads.value, heads.hidden, bias=out_bias)


class Latent(NamedTuple):
    """The sides of multi-head latent attention (DeepSeek-V2 and later)."""

    hidden: int
    heads: int
    query_rank: int | None
    """None where queries are projected in one step (V2-Lite, Moonlight)."""
    kv_rank: int
    nope: int
    rope: int
    value: int

    @property
    def sides(self) -> LatentSides:
        """The widths alone, for engines."""
        return LatentSides(self.query_rank or 0, self.kv_rank, self.nope, self.rope, self.value)

    @property
    def cached(self) -> int:
        """Elements that one layer caches for one token: the latent and the rotary key, shared by all heads."""
        return self.kv_rank + self.rope


def latent_attention(sides: Latent, *, bias: bool = False) -> Parts:
    """MLA: queries D·q + q + q·H·(n + r), or D·H·(n + r) in one step; keys and values D·(c + r) + c + c·H·(n + v);
    output H·v·D. c and q are the two ranks, n and r the plain and rotary key widths, v the value width.
    """
    query_width = sides.heads * (sides.nope + sides.rope)
    if sides.query_rank is None:
        queries = linear(sides.hidden, query_width)
    else:
        queries = linear(sides.hidden, sides.query_rank, bias=bias) + norm(sides.query_rank)
        queries += linear(sides.query_rank, query_width)
    latent = linear(sides.hidden, sides.cached, bias=bias) + norm(sides.kv_rank)
    expanded = linear(sides.kv_rank, sides.heads * (sides.nope + sides.value))
    return queries + latent + expanded + linear(sides.heads * sides.value, sides.hidden, bias=bias)


def gated_mlp(hidden: int, inner: int, *, bias: bool = False) -> Parts:
    """Gate, up and down: 3·D·I; biases 2·I + D."""
    up = linear(hidden, inner, bias=bias)
    return up + up + linear(inner, hidden, bias=bias)


def plain_mlp(hidden: int, inner: int, *, bias: bool = False) -> Parts:
    """Up and down without a gate: 2·D·I; biases I + D."""
    return linear(hidden, inner, bias=bias) + linear(inner, hidden, bias=bias)


def mtp_head(hidden: int, layer: Parts) -> Parts:
    """One multi-token-prediction head: a decoder layer, a matrix 2·D·D that joins two inputs, and three norms.

    The joint matrix stays in 16 bits, so it counts as ``other``.
    """
    return layer + Parts(other=linear(2 * hidden, hidden).total) + norm(hidden, norms=3)


def routed_experts(hidden: int, inner: int, experts: int) -> Parts:
    """A router D·E and E gated experts: E·3·D·I."""
    return Parts(routed=(Matrix(inner, hidden, 2 * experts), Matrix(hidden, inner, experts)), other=hidden * experts)
