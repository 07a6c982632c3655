"""What the deployment must carry, and how well."""

from __future__ import annotations

from typing import NamedTuple


class Workload(NamedTuple):
    """Sequences that decode at once, and their length."""

    context_tokens: int
    """Prompt and output together: what one sequence holds in the KV cache at its longest."""
    users: int
    prompt_tokens: int
    output_tokens: int | None
    """None where only the whole length is known; then the prompt is taken as the whole context."""
    shared_prefix_tokens: int = 0
    prefix_hit_fraction: float = 0.0
    idle_sessions: int = 0


class Objectives(NamedTuple):
    """What the deployment must meet."""

    itl_s: float = 0.050
    ttft_s: float | None = None
    margin_fraction: float = 0.05
    """Share of each resource that must stay free for a plan to be called FITS."""


class Neighbours(NamedTuple):
    """What else runs on the host."""

    tenants: int = 1
    """Deployments like this one, itself included, that share DRAM, cores and links."""
    link_bytes_per_s: float = 0.0
    cpu_cores: float = 0.0
    dram_bytes: float = 0.0
