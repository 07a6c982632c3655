"""What a family reads out of a config, and how it becomes a ``domain.Model``."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.checkpoints.elements import Parts
from kvplan.domain.model import Experts, KvLayers


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
    mtp: Parts = Parts()
    mtp_kv: tuple[KvLayers, ...] = ()
    """KV of the MTP layers, which cache only while they speculate."""
    mtp_copies: int = 0
    """Elements of the embedding and head copies that are stored with the MTP heads."""
    lookup: int = 0
    """Of the body's ``other``: tables of which a token reads a few rows."""
    mtp_unstated: bool = False
    """No key says whether the checkpoint stores the MTP heads: they count where the published total shows them."""
    towers: int = 0
    towers_unknown: bool = False
    warnings: tuple[str, ...] = ()
