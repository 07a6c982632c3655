"""What nearly all decoders share: their dimensions, their ends (embedding, head, final norm) and their experts."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import LARGEST_LAYERS, Config
from kvplan.checkpoints.elements import Heads, Parts, gated_mlp, norm, routed_experts
from kvplan.domain.model import Experts, KvLayers
from kvplan.errors import InputError

_LENGTHS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
    "max_sequence_length", "max_target_positions",
)  # fmt: skip
_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_HEAD_WIDTH = ("head_dim", "kv_channels", "attention_head_dim")


class Dims(NamedTuple):
    """The dimensions that every family has."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    """Width of one head: the stated ``head_dim``, which need not be hidden / heads."""
    vocab: int
    tied: bool
    max_context: int | None

    @property
    def sides(self) -> Heads:
        """One layer's attention where keys and values are equally wide."""
        return Heads(self.hidden, self.heads, self.kv_heads, self.head, self.head)

    @property
    def full_kv(self) -> tuple[KvLayers, ...]:
        """The KV layout where every layer keeps every token."""
        return kv_layers.full(self.layers, self.kv_heads, self.head, self.head)


def read_dims(config: Config, *, tied: bool = False, latent_head: int | None = None) -> Dims:
    """The common dimensions; ``tied`` is what a missing ``tie_word_embeddings`` means in this family.

    ``latent_head`` is the width of a query head of MLA, whose files state KV heads and a head_dim that mean nothing.
    """
    heads = config.count("num_attention_heads", "n_head", "n_heads")
    hidden = config.count("hidden_size", "d_model", "n_embd")
    kv_heads = 1 if latent_head else config.count(*_KV_HEADS, default=heads)
    kv_layers.check_heads(heads, kv_heads, config.where)
    return Dims(
        layers=config.count("num_hidden_layers", "n_layer", "num_layers", "n_layers", largest=LARGEST_LAYERS),
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head=latent_head or head_width(config, hidden, heads),
        vocab=config.count("vocab_size"),
        tied=config.flag("tie_word_embeddings", default=tied),
        max_context=max_context(config),
    )


def head_width(config: Config, hidden: int, heads: int) -> int:
    """The stated head width; null, 0 or a missing key mean hidden width over heads."""
    stated = config.optional_count(*_HEAD_WIDTH)
    if stated is not None:
        return stated
    if hidden % heads:
        raise InputError(
            f"head_dim is missing, and {heads} heads don't divide a hidden_size of {hidden}", where=config.where
        )
    return hidden // heads


def max_context(config: Config) -> int | None:
    """The longest sequence: the smallest of the length keys, times the factor of linear or dynamic RoPE scaling.

    YaRN files state either the native length or the scaled one, so theirs is at least original length times factor.
    """
    lengths = [config.count(name) for name in _LENGTHS if config.get(name) is not None]
    longest = min(lengths) if lengths else None
    scaling = config.section("rope_scaling") or config.section("rope_parameters")
    if scaling is None or longest is None:
        return longest
    kind, factor = scaling.get("rope_type", "type"), scaling.get("factor")
    if kind not in ("linear", "dynamic", "yarn") or isinstance(factor, bool) or not isinstance(factor, (int, float)):
        return longest
    if not 1 <= factor <= 2**20:
        raise scaling.wrong("factor", factor, "must be from 1 to 2^20")
    if kind == "yarn":
        original = scaling.optional_count("original_max_position_embeddings") or longest
        return max(longest, int(original * factor))
    return int(longest * factor)


class Moe(NamedTuple):
    """A mixture of experts: which layers have it, and how wide its parts are."""

    experts: int
    per_token: int
    inner: int
    """Width of one routed expert."""
    layers: int
    """Layers that are mixtures; the others are dense."""
    shared_inner: int = 0
    """Width of all shared experts together; 0 where there are none."""

    @property
    def record(self) -> Experts:
        return Experts(self.experts, self.per_token, self.layers, self.inner)

    def parts(self, hidden: int, *, correction: bool = False) -> Parts:
        """One layer: router, routed and shared experts, + E for a correction bias of the router."""
        routed = routed_experts(hidden, self.inner, self.experts)
        shared = gated_mlp(hidden, self.shared_inner) if self.shared_inner else Parts()
        return routed + shared + Parts(other=self.experts if correction else 0)


def read_moe(config: Config, layers: int, *, inner: int, shared_inner: int = 0, per_token: int | None = None) -> Moe:
    """The experts under any of the keys that families use for them. ``layers`` are those that are mixtures."""
    experts = config.count("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
    keys = ("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_top_k", "experts_per_token", "moe_topk")
    chosen = per_token if per_token is not None else config.count(*keys)
    check_experts(chosen, experts, config.where)
    return Moe(experts, chosen, inner, layers, shared_inner)


def check_experts(per_token: int, experts: int, where: str) -> None:
    """InputError where a token would choose more experts than there are."""
    if per_token > experts:
        raise InputError(f"{per_token} experts per token of {experts} experts can't be", where=where)


def decoder(dims: Dims, body: Parts, *, final_norm: Parts | None = None, **more: Any) -> Architecture:
    """An architecture of a body of layers: adds the ends. ``more`` are fields of Architecture that differ.

    Embedding V·D, and the head V·D again where it is not tied; the final norm is an RMSNorm unless given.
    """
    table = dims.vocab * dims.hidden
    fields: dict[str, Any] = {
        "kv": dims.full_kv,
        "intermediate_size": 0,
        "head_elements": dims.head,
        "embedding": table,
        "lm_head": 0 if dims.tied else table,
        **more,
    }
    return Architecture(
        layers=dims.layers,
        hidden_size=dims.hidden,
        attention_heads=dims.heads,
        vocab_size=dims.vocab,
        max_context_tokens=dims.max_context,
        body=body + (final_norm if final_norm is not None else norm(dims.hidden)),
        **fields,
    )
