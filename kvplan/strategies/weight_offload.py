"""Weights that do not fit in HBM live in host memory; KV stays on the GPU."""

from __future__ import annotations

import math

from kvplan.core.accounts import Placement
from kvplan.domain.interval import Interval
from kvplan.engines.interface import LLAMA_SERVERS
from kvplan.strategies.interface import Ends, Input, PlainStrategy, Situation, ends
from kvplan.units import GB, GIB

_SERIAL = Interval(0.3, 1.0, 1.0)
_LINK_RATE = Interval(0.65, 0.85, 1.0)


class WeightOffload(PlainStrategy):
    """vLLM ``--cpu-offload-gb``, llama.cpp ``-ngl``."""

    id = "weight-offload"
    title = "some weights in DRAM"
    order = 1
    second_pool = True
    formula = (
        "HBM   = what is left for weights after KV and overheads",
        "link  = bytes of the other weights, every step (llama.cpp: its CPU multiplies them instead)",
        "T     = GPU step on the resident weights + the other weights / link rate",
    )
    inputs = (
        Input("part that does not overlap", _SERIAL, "of the shorter", "zero-copy reads run inside the GPU's kernels"),
        Input("link rate of zero-copy reads", _LINK_RATE, "of large copies", "H100 kernel copies: 35 of 55 GB/s"),
    )
    evidence = ("FlexGen OPT-30B on T4: 7.32 tokens/s at a batch of 144",)

    def charges(self, situation: Situation) -> Ends:
        on_cpu = 1.0 if situation.deployment.engine.name in LLAMA_SERVERS else 0.0
        return ends(
            spills_weights=1.0, spilled_weights_on_cpu=on_cpu, serial_fraction=_SERIAL, link_rate_fraction=_LINK_RATE
        )

    def notes(self, situation: Situation) -> tuple[str, ...]:
        if situation.deployment.engine.name == "ollama":
            return ("ollama gives the CPU the layers that do not fit by itself (a Modelfile's num_gpu sets how many)",)
        return ()

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        deployment = situation.deployment
        if deployment.engine.name == "vllm":
            return (f"--cpu-offload-gb {math.ceil(placed.weights_spilled_bytes / GIB)}",)
        if deployment.engine.name == "sglang":
            return (f"--cpu-offload-gb {math.ceil(placed.weights_spilled_bytes / GB)}",)
        if deployment.engine.name == "llama.cpp":
            layers = deployment.model.layers
            kept = math.floor(layers * max(0.0, 1.0 - placed.weights_spilled_bytes / deployment.gpu_weight_bytes))
            return (f"-ngl {kept}",) if kept < layers else ()
        return () if deployment.engine.name == "ollama" else None


STRATEGIES = (WeightOffload(),)
