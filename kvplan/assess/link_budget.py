"""The link's lines, each with the rate that its copies reach."""

from __future__ import annotations

from kvplan.assess.constants import UNLIMITED
from kvplan.core.accounts import Demand
from kvplan.core.link import (
    copy_bytes,
    kv_in_bytes_per_s,
    kv_out_bytes_per_s,
    large_copy_bytes_per_s,
    other_direction_share,
)
from kvplan.core.shapes import Plan
from kvplan.domain.assessment import Part
from kvplan.units import GB, KIB, MIB


def link_parts(best: Plan, demand: Demand, source: str) -> list[Part]:
    """What crosses one GPU's link, at the large-copy rate: smaller copies count for more."""
    into, out = copies_words(best, kv_in_bytes_per_s(best)), copies_words(best, kv_out_bytes_per_s(best))
    weights = copies_words(best, large_copy_bytes_per_s(best), sized=False)
    tenants = f", x {best.limits.tenants:.0f} tenants" if best.limits.tenants > 1.0 else ""
    beside = f"; the quieter direction counts {other_direction_share(best):.2f} of its bytes"
    duplex = f"{best.host.link_duplex_fraction:.2f} each way"
    return [
        Part("kv", demand.link_kv_bytes_per_s, f"KV bytes of a step / ITL objective, {into}{tenants}", source),
        Part("weights", demand.link_weight_bytes_per_s,
             f"weight bytes of a step / ITL objective, {weights}{tenants}", source),
        Part("requests", demand.link_reload_bytes_per_s, f"requests/s x KV reloaded, {into}{tenants}", source),
        Part("write-back", demand.link_written_bytes_per_s,
             f"new tokens/s x KV bytes to host memory, {out}{tenants}{beside}", source),
        Part("collectives", demand.link_collective_bytes_per_s,
             f"all-reduces without a GPU-to-GPU link, both ways at once: {duplex}{tenants}", source),
        Part("others", demand.link_other_bytes_per_s, "--other-link-gb-per-s", "given"),
    ]  # fmt: skip


def copies_words(best: Plan, bytes_per_s: float, *, sized: bool = True) -> str:
    """``2 MiB copies at 47.6 of 55.4 GB/s``."""
    link = best.host.link_bytes_per_s
    if link >= UNLIMITED:
        return "at a rate that is not known"
    one = copy_bytes(best) if sized else 0.0
    return f"{size_words(one)} copies at {bytes_per_s / GB:.3g} of {link / GB:.3g} GB/s"


def size_words(one_bytes: float) -> str:
    """``2 MiB``, ``32 KiB``, ``large``."""
    if one_bytes <= 0.0:
        return "large"
    return f"{one_bytes / MIB:.3g} MiB" if one_bytes >= MIB else f"{one_bytes / KIB:.3g} KiB"
