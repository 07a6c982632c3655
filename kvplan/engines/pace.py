"""How fast an engine turns its steps around, beside what the GPU itself needs: one record an engine."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.interval import Interval


class Pace(NamedTuple):
    """Time that an engine adds to decoding. All of it grows with what is served, none with the length of a sequence."""

    step_factor: Interval
    """Fixed time of a step, relative to what the GPU's row says."""
    sequence_s: Interval
    """Time that every sequence of a step adds: sampling, scheduling, streaming."""
    prefill_wait_fraction: Interval
    """Share of the other requests' prefill that decoding sequences wait for; the rest is hidden in the same steps, or
    falls into their own wait for the first token."""
    source: str


UNMEASURED = Pace(
    step_factor=Interval(0.8, 1.0, 1.3),
    sequence_s=Interval(0.0, 10e-6, 30e-6),
    prefill_wait_fraction=Interval(0.4, 0.8, 1.0),
    source="class estimate: the middle of vLLM, SGLang and TensorRT-LLM",
)
"""Engines whose many users nobody has timed in public."""
