"""What a family reads out of a config, and what every reader of checkpoints refuses."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.checkpoints.elements import Parts
from kvplan.domain.model import Experts, KvLayers, LatentSides, WeightElements
from kvplan.errors import InputError, UnknownArchitecture
from kvplan.units import LARGEST_COUNT, shorten


class Architecture(NamedTuple):
    """One family's answer: geometry, KV layout and what the checkpoint stores."""

    layers: int
    hidden_size: int
    attention_heads: int
    head_elements: int
    intermediate_size: int
    """Widest dense feed-forward layer; 0 where every layer is made of experts."""
    vocab_size: int
    kv: tuple[KvLayers, ...]
    body: Parts
    """All layers and the final norm."""
    embedding: int
    lm_head: int
    """0 where tied."""
    max_context_tokens: int | None
    experts: Experts | None = None
    latent_sides: LatentSides | None = None
    mtp: Parts = Parts()
    mtp_kv: tuple[KvLayers, ...] = ()
    """KV of the MTP layers, which cache only while they speculate."""
    mtp_copies: int = 0
    """Elements of the embedding and head copies that are stored with the MTP heads."""
    copies_unstated: bool = False
    """Some checkpoints with the same keys store these copies and some don't."""
    lookup: int = 0
    """Of the body's ``other``: tables of which a token reads a few rows."""
    mtp_unstated: bool = False
    """No key says whether the checkpoint stores the MTP heads: they count where the published total shows them."""
    towers: int = 0
    towers_unknown: bool = False
    warnings: tuple[str, ...] = ()


def unknown_architecture(name: str, where: str, help: str) -> UnknownArchitecture:
    """The refusal of an architecture that kvplan does not know, be it named in a config or in a GGUF file."""
    return UnknownArchitecture(
        f"architecture {shorten(name)!r} is not known to kvplan: it does not know its KV layout yet, "
        "so its KV cache can't be judged",
        where=where, help=help,
    )  # fmt: skip


def check_total(weights: WeightElements, kv: tuple[KvLayers, ...], where: str, *, what: str) -> None:
    """No real model has 2^53 elements; beyond it sums of bytes are not exact any more."""
    kept = sum(kind.layers * kind.elements_per_token for kind in kv)
    kept += sum(kind.layers * sum(kind.state[:2]) for kind in kv if kind.state is not None)
    if weights.total > LARGEST_COUNT or kept > LARGEST_COUNT:
        raise InputError(f"the sizes in this {what} give a model of more than 2^53 elements", where=where)
