"""What the deployment must carry, and how well."""

from typing import NamedTuple

from kvplan.domain.interval import Interval
from kvplan.domain.lengths import Lengths


class Workload(NamedTuple):
    """Sequences that decode at once, and their length."""

    context_tokens: int
    """Prompt and output together: what the longest sequence holds in the KV cache at its end."""
    users: int
    prompt_tokens: int
    output_tokens: int | None
    """None where only the whole length is known; then the prompt is taken as the whole context."""
    shared_prefix_tokens: int = 0
    prefix_hit_fraction: float = 0.0
    idle_sessions: int = 0
    lengths: Lengths | None = None
    """How long sequences are, where that is known; None: all are as long as the context."""

    def tokens_per_sequence(self, users: float) -> Interval:
        """Mean tokens of a sequence in a crowd of so many."""
        if self.lengths is None:
            return Interval.exact(float(self.context_tokens))
        return self.lengths.crowd_mean_tokens(users)


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
