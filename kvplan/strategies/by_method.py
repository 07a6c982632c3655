"""What strategies with several published methods have in common: each figure is that of the method in use."""

from __future__ import annotations

from kvplan.core.accounts import Placement
from kvplan.strategies.interface import (
    Accuracy,
    Ends,
    Excuse,
    Method,
    PlainStrategy,
    Situation,
    no_way_with_latents,
)
from kvplan.strategies.methods import method_for


class ByMethod(PlainStrategy):
    """A family of methods. Its own formula, inputs, accuracy and evidence are those of its default."""

    id: str
    default: Method
    second_pool = True
    stock = False

    def __init__(self) -> None:
        self.accuracy = self.default.accuracy
        self.formula = self.default.formula
        self.inputs = self.default.inputs
        self.evidence = self.default.evidence

    def method(self, situation: Situation) -> Method:
        """As ``--method`` says; else the engine's own way; else the default."""
        return method_for(self.id, situation)

    def proof(self, situation: Situation) -> tuple[str, ...]:
        return self.method(situation).evidence

    def excuse(self, situation: Situation) -> Excuse | None:
        return None if self.method(situation).reads_latents else no_way_with_latents(situation)

    def loss(self, situation: Situation) -> Accuracy:
        """Unknown outside the contexts that were scored: what is chosen is ever less of a longer one."""
        method, context = self.method(situation), situation.deployment.workload.context_tokens
        if context < method.tested_from_tokens:
            tested = f"published from {method.tested_from_tokens // 1024}k tokens only"
        elif method.tested_tokens is not None and context > method.tested_tokens:
            tested = f"published up to {method.tested_tokens // 1024}k tokens only"
        else:
            return method.accuracy
        return Accuracy(None, None, tested, method.accuracy.source)

    def charges(self, situation: Situation) -> Ends:
        return self.method(situation).charges(situation)

    def is_stock(self, situation: Situation) -> bool:
        """Whether this engine itself has the method."""
        return situation.deployment.engine.name in self.method(situation).stock_engines

    def flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        return self.stock_flags(situation, placed) if self.is_stock(situation) else None

    def stock_flags(self, situation: Situation, placed: Placement) -> tuple[str, ...] | None:
        """Flags of the engine that has the method."""
        return ()

    def notes(self, situation: Situation) -> tuple[str, ...]:
        method = self.method(situation)
        if self.is_stock(situation):
            return method.cautions
        if not method.stock_engines:
            prototype = f"a prototype of its authors ({method.title}), not a flag of stock engines"
            return ("; ".join((prototype, *method.cautions)),)
        engines = " and ".join(method.stock_engines)
        theirs = f"a feature of {engines} ({method.title}), not of {situation.deployment.engine.name}"
        return (theirs, *method.cautions)
