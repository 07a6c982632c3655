"""All KV in GPU memory, in the type that the engine takes by default."""

from __future__ import annotations

from kvplan.core.shapes import Placement
from kvplan.strategies.interface import EXACT, RESIDENT, Ends, Input, Situation, same


class Hbm:
    """The baseline: attention reads all KV from HBM."""

    id = "hbm"
    title = "native KV in GPU memory"
    order = 0
    kv_suffix: str | None = None
    second_pool = False
    per_head = False
    accuracy = EXACT
    formula = (
        "HBM   = weights + activations + runtime + graphs + users x KV bytes of one sequence",
        "T     = t0 + weights read / (e_w x HBM rate) + users x KV bytes / (e_a x HBM rate) + all-reduces",
    )
    inputs: tuple[Input, ...] = ()
    evidence = ("33 published decode rows on 5 GPUs and 6 models: 3.4 % mean error, 9.8 % at most",)
    stock = True

    def charges(self, situation: Situation) -> Ends:
        return same(RESIDENT)

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return ()

    def notes(self, situation: Situation) -> tuple[str, ...]:
        return ()


STRATEGIES = (Hbm(),)
