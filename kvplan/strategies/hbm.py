"""All KV in GPU memory, in the type that the engine takes by default; ``--method quest`` reads only what matters."""

from __future__ import annotations

from kvplan.core.accounts import Placement
from kvplan.strategies.interface import Accuracy, Ends, Excuse, Method, PlainStrategy, Situation, no_way_with_latents
from kvplan.strategies.methods import methods_of
from kvplan.strategies.methods.resident import DENSE


class Hbm(PlainStrategy):
    """The baseline: attention reads all KV from HBM, unless a method that chooses is asked for."""

    id = "hbm"
    title = "native KV in GPU memory"
    order = 0
    formula = DENSE.formula
    evidence = DENSE.evidence

    def method(self, situation: Situation) -> Method | None:
        """The one that is named; full attention needs no name."""
        asked = situation.deployment.method
        return next((item for item in methods_of(self.id) if item.name == asked and item is not DENSE), None)

    def excuse(self, situation: Situation) -> Excuse | None:
        return None if (self.method(situation) or DENSE).reads_latents else no_way_with_latents(situation)

    def charges(self, situation: Situation) -> Ends:
        return (self.method(situation) or DENSE).charges(situation)

    def loss(self, situation: Situation) -> Accuracy:
        return (self.method(situation) or DENSE).accuracy

    def proof(self, situation: Situation) -> tuple[str, ...]:
        return (self.method(situation) or DENSE).evidence

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return None if self.method(situation) else ()

    def notes(self, situation: Situation) -> tuple[str, ...]:
        method = self.method(situation)
        if method is None:
            return ()
        return (f"a prototype of its authors ({method.title}), not a flag of stock engines", *method.cautions)


STRATEGIES = (Hbm(),)
