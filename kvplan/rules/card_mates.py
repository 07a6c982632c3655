"""Deployments that run on the same card, as far as their files say so: the services of one file with the same GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from kvplan.deployments.found import FoundDeployment

MOST_CARDS = 64


def mates_of(found: FoundDeployment, others: Sequence[FoundDeployment]) -> tuple[FoundDeployment, ...]:
    """Those of the same file that name one of the same GPUs, in the order of their lines."""
    own = gpu_ids(found)
    if not own:
        return ()
    return tuple(
        other
        for other in others
        if other is not found and other.place.path == found.place.path and own & gpu_ids(other)
    )


def gpu_ids(found: FoundDeployment) -> frozenset[str]:
    """The GPUs that a deployment names by number or UUID; of all that it may see, the first ones that it takes."""
    if sees_all(found):
        ranks = 1
        for name in ("tp", "pp", "dp"):
            text = str(found.value(name) or "1")
            ranks *= max(int(text), 1) if text.isdecimal() and len(text) < 4 else 1
        return frozenset(str(number) for number in range(min(ranks, MOST_CARDS)))
    text = found.notes.get("gpu_ids", "")
    return frozenset(item.strip() for item in text.split(",") if item.strip())


def sees_all(found: FoundDeployment) -> bool:
    """Whether every GPU of the host is given to it, so that its own are not named."""
    return found.notes.get("gpu_ids") == "all"
