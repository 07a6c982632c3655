"""How fast an engine turns its steps around, beside what the GPU itself needs: one record an engine."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.interval import Interval


class Pace(NamedTuple):
    """Time that an engine adds to decoding. All of it grows with what is served, none with the length of a sequence."""

    step_factor: Interval
    """Fixed time of a step, relative to what the GPU's row says."""
    sequence_s: Interval
    """Time that every sequence of a step beyond the first adds: sampling, scheduling, streaming."""
    prefill_wait_fraction: Interval
    """Share of the other requests' prefill that decoding sequences wait for; the rest is hidden in the same steps, or
    falls into their own wait for the first token."""
    source: str
    blackwell_factor: float = 1.0
    """Fixed time of a step on Blackwell, relative to ``step_factor``: where an engine's own kernels are made for it."""
    eager_layer_s: Interval = Interval(0.0, 0.0, 0.0)
    """Without captured graphs: what the CPU takes to launch a layer's kernels, which a step is never shorter than."""


_EAGER_LAYER_S = Interval(0.25e-3, 0.55e-3, 0.65e-3)
"""Source: Llama-2-70B by a vLLM of 2023 on A100, where tp 4 and tp 8 take the same 43 ms a step."""
_SERVED = "closed loops of 4 to 512 users on Hopper and Blackwell (aiconfigurator's silicon sample), fitted on half"

VLLM = Pace(
    step_factor=Interval(0.8, 1.0, 1.25),
    sequence_s=Interval(6e-6, 12e-6, 30e-6),
    prefill_wait_fraction=Interval(0.6, 0.82, 1.0),
    source=f"vLLM 0.12 to 0.19, {_SERVED}",
    eager_layer_s=_EAGER_LAYER_S,
)
SGLANG = Pace(
    step_factor=Interval(0.85, 1.08, 1.35),
    sequence_s=Interval(15e-6, 31e-6, 50e-6),
    prefill_wait_fraction=Interval(0.25, 0.42, 0.7),
    source=f"SGLang 0.5.1 to 0.5.10, {_SERVED}",
    eager_layer_s=_EAGER_LAYER_S,
)
TENSORRT_LLM = Pace(
    step_factor=Interval(0.8, 1.05, 1.3),
    sequence_s=Interval(0.0, 4e-6, 20e-6),
    prefill_wait_fraction=Interval(0.6, 0.87, 1.0),
    source=f"TensorRT-LLM 1.0 to 1.3, {_SERVED}",
    blackwell_factor=0.75,
)
LLAMA_CPP = Pace(
    step_factor=Interval(0.8, 1.0, 1.2),
    sequence_s=Interval(100e-6, 400e-6, 600e-6),
    prefill_wait_fraction=Interval(0.5, 0.9, 1.0),
    source="llama.cpp b6918, batches of 1 to 32 on a DGX Spark; how prefill and decode share steps is a class estimate",
)
MLX = Pace(
    step_factor=Interval(0.2, 0.35, 0.6),
    sequence_s=Interval(50e-6, 200e-6, 600e-6),
    prefill_wait_fraction=Interval(0.5, 0.9, 1.0),
    source="mlx-lm BENCHMARKS.md, Qwen3-4B on an M4 Max, against llama.cpp's Metal; more than one user: class estimate",
)
UNMEASURED = Pace(
    step_factor=Interval(0.8, 1.0, 1.3),
    sequence_s=Interval(0.0, 10e-6, 30e-6),
    prefill_wait_fraction=Interval(0.4, 0.8, 1.0),
    source="class estimate: the middle of vLLM, SGLang and TensorRT-LLM",
)
"""Engines whose many users nobody has timed in public."""
