"""A config -> ``domain.Model``: the same for a ``config.json`` and for the config keys of a catalog row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvplan.checkpoints import families, quantization, towers
from kvplan.checkpoints.architecture import Architecture, check_total
from kvplan.checkpoints.config import Config
from kvplan.domain.model import Model, WeightElements
from kvplan.units import to_billions

MTP_UNTOLD = "the config does not tell whether the checkpoint stores"
"""How the warning begins that files, or a published total, make pointless."""


def model_from_config(
    config: Mapping[str, Any], *, name: str, where: str, source: str, hub_id: str | None = None,
    catalog_name: str | None = None, published_parameters: int | None = None,
) -> Model:  # fmt: skip
    """The model that a config describes. ``where`` is the file or row that errors name."""
    keys = Config(config, where)
    architecture = families.read(keys)
    stored = quantization.stored(keys, experts=architecture.experts is not None)
    weights = _weights(architecture, stored, published_parameters)
    check_total(weights, architecture.kv, where, what="config")
    unknown = architecture.towers_unknown and not weights.towers
    return Model(
        name=name,
        model_type=str(keys.word("model_type")),
        layers=architecture.layers,
        hidden_size=architecture.hidden_size,
        attention_heads=architecture.attention_heads,
        head_elements=architecture.head_elements,
        intermediate_size=architecture.intermediate_size,
        vocab_size=architecture.vocab_size,
        max_context_tokens=architecture.max_context_tokens,
        dtype=stored.scheme,
        kv=architecture.kv,
        weights=weights,
        source=source,
        experts=architecture.experts,
        hub_id=hub_id,
        catalog_name=catalog_name,
        published_parameters=published_parameters,
        tower_elements_unknown=unknown,
        mtp_kv=architecture.mtp_kv,
        latent_sides=architecture.latent_sides,
        warnings=(
            *architecture.warnings,
            *stored.warnings,
            *((towers.UNKNOWN,) if unknown else ()),
            *_untold(architecture, weights, published_parameters),
        ),
    )


def _weights(architecture: Architecture, stored: quantization.Stored, published: int | None) -> WeightElements:
    """Element counts by part.

    Copies of the embedding that come with MTP heads are left out where the published total shows that the
    checkpoint has none (GLM-4.6), whole heads that no key tells where it does not show them (Qwen3-Next). What it
    shows beyond the text body is the tower that the config leaves out.
    """
    body, mtp = architecture.body, architecture.mtp
    scales = body.scales(stored.scales) + mtp.scales(stored.scales) if stored.scales else 0
    weights = WeightElements(
        embedding=architecture.embedding,
        lm_head=architecture.lm_head,
        linear=body.linear_elements,
        routed_experts=body.routed_elements,
        other=body.other,
        mtp=mtp.total + architecture.mtp_copies,
        towers=architecture.towers,
        scales=scales,
        lookup=architecture.lookup,
        mtp_kept=(mtp.total if stored.keeps_mtp else mtp.other) + architecture.mtp_copies,
        mtp_experts=0 if stored.keeps_mtp else mtp.routed_elements,
    )
    if architecture.mtp_unstated and published != weights.total:
        scales = body.scales(stored.scales) if stored.scales else 0
        return weights._replace(mtp=0, mtp_kept=0, mtp_experts=0, scales=scales)
    without_copies = weights._replace(mtp=mtp.total, mtp_kept=weights.mtp_kept - architecture.mtp_copies)
    if published == without_copies.total:
        return without_copies
    if architecture.towers_unknown and published is not None and published > weights.total:
        return weights._replace(towers=published - weights.total)
    return weights


def _untold(architecture: Architecture, weights: WeightElements, published: int | None) -> Iterator[str]:
    """What the config leaves open about MTP heads, where the published total does not settle it."""
    if published == weights.total:
        return
    if architecture.mtp_unstated:
        yield f"{MTP_UNTOLD} an MTP head, which is not counted: {_count(architecture.mtp.total)} more if it does"
    elif architecture.copies_unstated and architecture.mtp_copies:
        copies = "embedding and head again with its MTP head, which is counted"
        yield f"{MTP_UNTOLD} {copies}: {_count(architecture.mtp_copies)} less if it does not"


def _count(elements: int) -> str:
    return f"{elements:,} elements ({to_billions(elements):.2f} billion)"
