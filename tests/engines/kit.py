"""Policies and commands of a deployment in words."""

from __future__ import annotations

from kvplan.assess import assess, build_frame
from kvplan.catalog.hardware_domain import DISPLAY_RESERVE_GIB
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment
from kvplan.domain.host import Host
from kvplan.engines.interface import MemoryPolicy
from kvplan.units import GIB


def policy_of(**words: object) -> MemoryPolicy:
    given = {"model": "llama3-8b", "context": "8k", **words}
    return build_frame(resolve(Words(**given))).situation.policy  # type: ignore[arg-type]


def judged(*strategies: str, **words: object) -> Assessment:
    given = {"model": "llama3-8b", "context": "8k", **words}
    return assess(resolve(Words(**given)), strategies)  # type: ignore[arg-type]


def line(strategy: str, **words: object) -> str | None:
    """What ``fit`` says to paste for a strategy."""
    return judged(strategy, **words).strategy(strategy).flags


def on_platform(host: Host, platform: str) -> Host:
    """The host under another system, its display's part not stated."""
    basis = {**host.basis, "display_reserve_bytes": f"class estimate: {platform}"}
    held = DISPLAY_RESERVE_GIB[platform].scaled(GIB)
    return host._replace(platform=platform, display_reserve_bytes=held, basis=basis)
