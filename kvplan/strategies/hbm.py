"""All KV in GPU memory, in the type that the engine takes by default."""

from __future__ import annotations

from kvplan.strategies.interface import PlainStrategy


class Hbm(PlainStrategy):
    """The baseline: attention reads all KV from HBM."""

    id = "hbm"
    title = "native KV in GPU memory"
    order = 0
    formula = (
        "HBM   = weights + activations + runtime + graphs + users x KV bytes of one sequence",
        "T     = t0 + weights read / (e_w x HBM rate) + users x KV bytes / (e_a x HBM rate) + all-reduces",
    )
    evidence = ("33 published decode rows on 5 GPUs and 6 models: 3.4 % mean error, 9.8 % at most",)


STRATEGIES = (Hbm(),)
