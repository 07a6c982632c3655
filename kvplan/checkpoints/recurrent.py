"""Layers that keep a state instead of KV: what they store in a checkpoint, and what they keep for a sequence.

D is the hidden width, k the width of the convolution's kernel; k - 1 of its columns are kept between tokens. Matrices
that project in and out count as ``linear``; what quantized checkpoints leave in 16 bits (convolutions, decays, narrow
gates) as ``other``.

Sources: the mixer classes of Hugging Face transformers 5.24 for the weights, its cache and vLLM's ``mamba_utils`` for
the states; held by published element counts and state bytes in tests/truth/model_facts.jsonl.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.checkpoints.config import LARGEST_LAYERS, Config
from kvplan.checkpoints.decoder import Dims, max_context
from kvplan.checkpoints.elements import Parts, linear, norm
from kvplan.domain.model import KvLayers, State
from kvplan.errors import InputError


class Mamba1(NamedTuple):
    """The sides of a Mamba-1 mixer: every one of its ``inner`` channels has a state of its own."""

    hidden: int
    inner: int
    state: int
    kernel: int
    rank: int
    """Width of the low-rank projection of the time steps."""

    def parts(self, *, norms: bool = False, bias: bool = False, conv_bias: bool = True) -> Parts:
        """In 2·D·i, out i·D, steps i·(r + 2·s) + r·i + i, decay i·s + i, convolution i·k (+ i).

        Jamba has norms of its own over the time step and both state projections: + r + 2·s.
        """
        joined = self.rank + 2 * self.state
        matrices = linear(self.hidden, 2 * self.inner, bias=bias) + linear(self.inner, self.hidden, bias=bias)
        steps = linear(self.inner, joined) + linear(self.rank, self.inner, bias=True)
        other = self.inner * (self.state + 1) + self.inner * (self.kernel + conv_bias)
        return matrices + steps + Parts(other=other + (joined if norms else 0))

    def kv(self, layers: int, *, float32: bool = False) -> KvLayers:
        """i·(k - 1) columns and a state of i·s."""
        state = State(self.inner * (self.kernel - 1), self.inner * self.state, float32, self.kernel - 1)
        return KvLayers("mamba1", layers, self.inner, 0, 0, state=state)


class Mamba2(NamedTuple):
    """The sides of a Mamba-2 mixer. Its inner width is heads x head, which need not be a multiple of D."""

    hidden: int
    heads: int
    head: int
    groups: int
    state: int
    kernel: int

    @property
    def inner(self) -> int:
        return self.heads * self.head

    @property
    def channels(self) -> int:
        """What the convolution runs over: the inner width and the two state projections of every group."""
        return self.inner + 2 * self.groups * self.state

    def parts(
        self, *, gated_norm: bool = True, in_bias: bool = False, out_bias: bool = False, conv_bias: bool = True
    ) -> Parts:
        """In D·(i + c + h), out i·D, convolution c·k (+ c), three numbers for each head, a norm of i."""
        matrices = linear(self.hidden, self.inner + self.channels + self.heads, bias=in_bias)
        matrices += linear(self.inner, self.hidden, bias=out_bias)
        other = self.channels * (self.kernel + conv_bias) + 3 * self.heads + (self.inner if gated_norm else 0)
        return matrices + Parts(other=other)

    def kv(self, layers: int, *, float32: bool = False) -> KvLayers:
        """c·(k - 1) columns and a state of heads x head x s."""
        columns = self.kernel - 1
        state = State(
            self.channels * columns, self.inner * self.state, float32, columns, self.groups, 2 * self.state
        )  # fmt: skip
        return KvLayers("mamba2", layers, self.heads, 0, 0, state=state)


class DeltaNet(NamedTuple):
    """The sides of a gated delta net: fewer key heads than value heads, a state of key x value for each value head."""

    hidden: int
    key_heads: int
    value_heads: int
    key: int
    value: int
    kernel: int

    @property
    def channels(self) -> int:
        return 2 * self.key_heads * self.key + self.value_heads * self.value

    def parts(self) -> Parts:
        """Queries, keys and values D·c, output gate and output 2·D·v, two gates of a number for each value head.

        The two narrow gates stay in 16 bits, so they count as ``other``: 2·D·n + 2·n. A norm of one value head.
        """
        width = self.value_heads * self.value
        matrices = linear(self.hidden, self.channels) + linear(self.hidden, width) + linear(width, self.hidden)
        narrow = 2 * self.value_heads * (self.hidden + 1)
        return matrices + Parts(other=narrow + self.channels * self.kernel) + norm(self.value)

    def kv(self, layers: int, *, float32: bool = False) -> KvLayers:
        """c·(k - 1) columns and a state of n·dk·dv."""
        columns = self.kernel - 1
        state = State(self.channels * columns, self.value_heads * self.key * self.value, float32, columns)
        return KvLayers("gdn", layers, self.value_heads, 0, 0, state=state)


class DeltaAttention(NamedTuple):
    """The sides of Kimi delta attention (KDA): a square state for each head, kept in 32 bits."""

    hidden: int
    heads: int
    head: int
    kernel: int

    @property
    def width(self) -> int:
        return self.heads * self.head

    def parts(self, *, full_rank_gate: bool = False, decays: int | None = None) -> Parts:
        """Four matrices D·w, decay gate D·d + d·w, output gate as that one or D·w, D·h for the learning rate.

        The rest: three convolutions w·k, a bias of w for the decay, ``decays`` (one for each head unless given), a
        norm of d.
        """
        square = linear(self.hidden, self.width)
        low_rank = linear(self.hidden, self.head) + linear(self.head, self.width)
        matrices = square + square + square + linear(self.width, self.hidden) + low_rank
        matrices += square if full_rank_gate else low_rank
        other = self.hidden * self.heads + self.width * (3 * self.kernel + 1)
        return matrices + Parts(other=other + (self.heads if decays is None else decays)) + norm(self.head)

    def kv(self, layers: int) -> KvLayers:
        """3·w·(k - 1) columns and a state of heads x d x d."""
        columns = self.kernel - 1
        state = State(3 * self.width * columns, self.width * self.head, recurrent_float32=True, conv_columns=columns)
        return KvLayers("kda", layers, self.heads, 0, 0, state=state)


class Lightning(NamedTuple):
    """The sides of lightning attention (MiniMax): a square state for each head, kept in 32 bits, no convolution."""

    hidden: int
    heads: int
    head: int

    def parts(self) -> Parts:
        """Queries, keys and values in one matrix 3·D·w, gate D·w, output w·D, a norm of w."""
        width = self.heads * self.head
        matrices = linear(self.hidden, 3 * width) + linear(self.hidden, width) + linear(width, self.hidden)
        return matrices + norm(width)

    def kv(self, layers: int) -> KvLayers:
        state = State(0, self.heads * self.head**2, recurrent_float32=True)
        return KvLayers("lightning", layers, self.heads, 0, 0, state=state)


class ShortConv(NamedTuple):
    """A gated short convolution (LFM2): D channels, nothing kept but its last columns."""

    hidden: int
    kernel: int

    def parts(self, *, bias: bool = False) -> Parts:
        """In 3·D·D, out D·D, convolution D·k; with biases everywhere or nowhere."""
        matrices = linear(self.hidden, 3 * self.hidden, bias=bias) + linear(self.hidden, self.hidden, bias=bias)
        return matrices + Parts(other=self.hidden * (self.kernel + bias))

    def kv(self, layers: int) -> KvLayers:
        state = State(self.hidden * (self.kernel - 1), conv_columns=self.kernel - 1)
        return KvLayers("conv", layers, self.hidden, 0, 0, state=state)


def read_stateful(config: Config, *, tied: bool) -> Dims:
    """The dimensions of a model without attention: no heads, and mostly no stated length."""
    return Dims(
        layers=config.count("num_hidden_layers", "n_layer", largest=LARGEST_LAYERS), hidden=config.count("hidden_size"),
        heads=0, kv_heads=0, head=0, vocab=config.count("vocab_size"),
        tied=config.flag("tie_word_embeddings", default=tied), max_context=max_context(config),
    )  # fmt: skip


def state_in_float32(config: Config, *, default: bool = False) -> bool:
    """Whether the file asks for 32-bit states; without a word engines keep them in the type of the model."""
    asked = config.word("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    return default if asked is None else asked.removeprefix("torch.") == "float32"


def read_mamba2(config: Config, hidden: int, inner: int) -> Mamba2:
    """The keys of Bamba, Granite 4 and Falcon-H1; ``mamba_d_head`` may be the word "auto"."""
    config = config.with_defaults(mamba_n_heads=128, mamba_n_groups=1, mamba_d_state=256, mamba_d_conv=4)
    heads = config.count("mamba_n_heads")
    stated = None if config.get("mamba_d_head") == "auto" else config.optional_count("mamba_d_head")
    if heads * (stated or inner // heads) != inner:
        raise InputError(f"{heads} state heads don't share an inner width of {inner} evenly", where=config.where)
    return Mamba2(
        hidden, heads, inner // heads, config.count("mamba_n_groups"), config.count("mamba_d_state"),
        config.count("mamba_d_conv"),
    )  # fmt: skip
